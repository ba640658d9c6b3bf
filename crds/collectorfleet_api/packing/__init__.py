"""Arithmetic of quantities, GPU fractions, pods and shares. Knows no models."""
