"""Benchmark: FleetCollector beside RayCollector with the same environments, policies and arguments."""
