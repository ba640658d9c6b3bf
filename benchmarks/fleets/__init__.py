"""The operator with 10, 100 and 1,000 fleets on a real API server: how fast, how late, how large."""
