"""Import the modules that every collector needs. The process that collectors are forked from imports this module."""

from collectorfleet.imports import without_garbage_collection

with without_garbage_collection():
    import torch  # noqa: F401
    import torchrl.collectors  # noqa: F401
