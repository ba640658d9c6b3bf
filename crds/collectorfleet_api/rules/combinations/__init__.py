"""Options that need or exclude each other.

Each stands here once, for the API server as CEL and for Python, under one sentence: ``cel`` and ``validation`` read the
same table.
"""
