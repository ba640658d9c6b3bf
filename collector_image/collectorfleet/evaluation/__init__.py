"""Evaluation during training: separate actors run whole episodes with published versions of the weights."""
