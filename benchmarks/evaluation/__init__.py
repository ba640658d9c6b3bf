"""Benchmark: how much an evaluation slows the training beside it."""
