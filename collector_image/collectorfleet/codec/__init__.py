"""Tensors as bytes and back, for both sides: rollouts, and snapshots of weights. In the collector and in the driver."""
