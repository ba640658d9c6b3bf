"""Benchmark: the time until a fleet exists and delivers its first batch, beside the same setup made by hand."""
