"""Weights that a learner of TorchRL's trainers makes in actors of its own, and how the driver comes to publish them."""
