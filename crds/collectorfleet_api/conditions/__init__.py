"""Conditions that depend only on the spec and the driver's report. Kubernetes and a local run use the same code.

A message changes only if the state changes. Versions and rates that change with every batch are in ``status.weights``
and ``status.progress``, because each new message is one more write to the API server.
"""
