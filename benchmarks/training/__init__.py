"""Benchmark: the reward over time of the same training with RayCollector and with FleetCollector."""
