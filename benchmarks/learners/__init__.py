"""Benchmark: policies that learn in learner shards, beside a policy that the driver trains."""
