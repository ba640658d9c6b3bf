"""A run in a driver pod: the API server, the Lease and the Ray cluster around it."""
