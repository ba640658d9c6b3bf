"""Import the modules that every collector needs. Collectors are forked from a process that imports this module."""

from collectorfleet.imports import without_garbage_collection

with without_garbage_collection():
    import torch  # noqa: F401
    import torchrl.collectors  # noqa: F401
