"""A fleet on this machine: the manifest, driver code and status of a cluster on a local Ray, without Kubernetes."""
