"""Measurements on one GPU: how frames and weights travel, and where the policy acts."""
