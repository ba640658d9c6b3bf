"""Collectors of a fleet without Ray, as processes of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectorfleet.transport.distributed.launcher import LocalProcesses


def prepare_processes() -> None:
    """Begin to import what collectors need while this process does the same. Returns at once."""
    from collectorfleet.transport.distributed.launcher import LocalProcesses

    LocalProcesses.prepare()


def gpus_here() -> float:
    """How many GPUs this machine has."""
    import torch

    return float(torch.cuda.device_count())


def local_processes(gpus_per_collector: float, output: Path | None) -> LocalProcesses:
    """What collectors print goes to ``output``, or with this process's own."""
    from collectorfleet.transport.distributed.launcher import LocalProcesses

    return LocalProcesses(gpus_per_collector=gpus_per_collector, output=output)
