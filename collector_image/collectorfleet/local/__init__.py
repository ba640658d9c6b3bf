"""A run on this machine: the same manifest, driver and status on a local Ray, without Kubernetes."""
