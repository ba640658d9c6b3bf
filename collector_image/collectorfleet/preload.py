"""What the process of every collector needs: to be imported where there is none yet, and before one is asked for."""

from collectorfleet.imports import without_collections

with without_collections():
    import torch  # noqa: F401
    import torchrl.collectors  # noqa: F401
