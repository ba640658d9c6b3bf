"""The driver's report for Prometheus, which asks on threads of its own."""
