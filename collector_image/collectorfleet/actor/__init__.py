"""The collector process: build the collector, make rollouts, load weights, encode frames. No import of Ray."""
