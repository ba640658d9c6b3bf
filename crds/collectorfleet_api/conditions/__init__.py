"""Conditions that depend only on the spec and the driver's report. Kubernetes and a local run use the same code.

A message changes only if the state changes, because each new message is one more write to the API server. Versions and
rates change with every batch, so they are in ``status.weights`` and ``status.progress`` instead.
"""
