"""Modules that all benchmarks share: child processes with their own Ray, waits with a timeout, and tables."""
