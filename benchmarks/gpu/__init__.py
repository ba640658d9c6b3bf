"""Benchmark on one GPU: the transport of frames and weights, and the process in which the policy acts."""
