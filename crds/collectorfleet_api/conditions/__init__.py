"""Conditions that follow from the spec and the driver's report alone, the same in Kubernetes and in a local run.

A message changes only when something worth telling changes: versions and rates that move with every batch stand in
``status.weights`` and ``status.progress``, because each new message is one more write to the API server.
"""
