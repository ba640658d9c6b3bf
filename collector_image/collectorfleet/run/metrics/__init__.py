"""The driver's report for Prometheus."""
