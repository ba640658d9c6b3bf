"""A simulator that a collector starts as a separate process for its environment, and stops when the collector ends."""
