"""Benchmark: the time to publish weights to nodes behind links of a known rate."""
