"""Weights to nodes behind links of a known rate."""
