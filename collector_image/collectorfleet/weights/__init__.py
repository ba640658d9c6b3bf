"""Versions of the policy's weights: copying them out, loading them in place, and knowing who has which."""
