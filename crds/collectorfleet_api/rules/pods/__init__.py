"""Finds fields of a pod that the API server would refuse, without the API server.

The types of fields come from Kubernetes' schema. The other rules are those of Kubernetes' ``pkg/apis/core/validation``
that people are known to break. The API server checks the remaining rules.
"""
