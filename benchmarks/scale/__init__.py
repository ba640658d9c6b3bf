"""Benchmark: the cost of one event in the driver, in fleets of 4 to 512 collectors."""
