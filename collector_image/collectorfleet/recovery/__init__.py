"""Decide about lost collectors and about the deadlines of requests. These classes only decide. No I/O."""
