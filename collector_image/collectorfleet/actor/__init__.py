"""The collector process: build the collector, make rollouts, load weights and encode frames.

The package does not depend on a launcher or on Ray.
"""
