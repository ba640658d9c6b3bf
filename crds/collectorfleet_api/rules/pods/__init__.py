"""What the API server refuses in a pod, found without the API server.

The types of fields come from Kubernetes' schema. The other rules follow ``pkg/apis/core/validation`` of Kubernetes, as
far as people are known to break them; the API server reports the rest.
"""
