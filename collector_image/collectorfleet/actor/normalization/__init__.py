"""Find, read and load the statistics of a collector's environment.

Reject unsupported statistics with an error that names them.
"""
