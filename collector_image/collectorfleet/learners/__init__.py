"""Learners in separate actors. Each shard has a replay actor, and policies that sample from this actor."""
