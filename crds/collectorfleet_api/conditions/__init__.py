"""Conditions that follow from the spec and the driver's report alone, the same in Kubernetes and in a local run.

A message changes only with news. Versions and rates that change with every batch are in ``status.weights`` and
``status.progress``, because each new message is one more write to the API server.
"""
