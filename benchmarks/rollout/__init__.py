"""Benchmark: the cost of a step in the fleet's rollout loop, in TorchRL's, and with environment and policy alone."""
