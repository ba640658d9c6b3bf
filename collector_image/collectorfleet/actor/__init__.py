"""The collector process: build the collector, make rollouts, load weights and encode frames.

The package depends neither on a launcher nor on Ray.
"""
