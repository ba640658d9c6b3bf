"""A simulator that a collector starts beside its environment, in a process of its own, and ends with itself."""
