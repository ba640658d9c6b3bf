"""Finds fields of a pod that the API server would refuse. No request is sent to the API server.

The types of fields come from Kubernetes' schema. The other rules come from Kubernetes' ``pkg/apis/core/validation``.
Of these other rules, this package has only the rules that people are known to break. The API server checks the rest.
"""
