"""The operator's metrics for Prometheus. The drivers export the metrics of their fleets."""
