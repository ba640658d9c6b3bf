"""Benchmark: a simulator whose environments are tensors on one device, stepped by several loops."""
