"""Arithmetic of quantities, GPU fractions, pods and shares. It imports no models."""
