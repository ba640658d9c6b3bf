"""The package trees of ``spec.code``: fetched, checked, unpacked. The same in a pod and in a local run."""
