"""Learners in actors of their own: shards of a replay actor and the policies that sample from it."""
