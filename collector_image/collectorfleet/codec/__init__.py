"""Convert rollouts and snapshots of weights to arrays of bytes and back, in the collector and in the driver."""
