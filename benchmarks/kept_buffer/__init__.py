"""Benchmark: the cost of a replay buffer in a checkpoint."""
