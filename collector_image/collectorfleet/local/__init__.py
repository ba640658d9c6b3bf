"""Run a fleet on this machine without Kubernetes, with the same manifest, driver code and status as in a cluster."""
