"""Policies that learn in shards, beside one that is trained in the driver."""
