"""Benchmark: speed, latency and memory of the operator with 10, 100 and 1,000 fleets on a real API server."""
