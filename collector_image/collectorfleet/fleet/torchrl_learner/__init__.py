"""Weights that a learner of TorchRL's trainers makes in separate actors, and their way to the driver."""
