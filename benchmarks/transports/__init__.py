"""Benchmark: the cost of each transport, beside the other transports and TorchRL's classes."""
