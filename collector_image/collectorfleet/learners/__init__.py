"""Learners in separate actors: shards with a replay actor and the policies that sample from it."""
