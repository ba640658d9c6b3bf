"""Serve the driver's report to Prometheus, from separate threads."""
