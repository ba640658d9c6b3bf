"""Fetch, check and unpack the code of ``spec.code``, in a pod and in a local run."""
