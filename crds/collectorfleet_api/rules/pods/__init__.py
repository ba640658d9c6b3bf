"""What of a pod the API server refuses, found without it: by its types, and by rules that its types do not have.

The rules follow ``pkg/apis/core/validation`` of Kubernetes. They hold for what people write into templates: a rule that
nobody is known to break has no place here, because the API server tells of it.
"""
