"""Benchmark: the cost of each fault for FleetCollector and RayCollector. Each frame proves which weights made it."""
