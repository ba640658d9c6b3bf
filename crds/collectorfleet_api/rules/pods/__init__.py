"""Finds fields of a pod that the API server would refuse. The API server is not asked.

The types of fields come from Kubernetes' schema. The other rules come from Kubernetes' ``pkg/apis/core/validation``, as
far as people are known to break them. The API server checks the remaining rules.
"""
