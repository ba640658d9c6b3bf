"""Options that need or exclude each other.

Each combination has one sentence and two forms: CEL for the API server, and Python. ``cel`` and ``validation`` read
the same table.
"""
