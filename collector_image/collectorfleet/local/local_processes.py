"""Run the collectors of a fleet without Ray, as processes of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectorfleet.transport.distributed.launcher import LocalProcesses


def prepare_processes() -> None:
    """Begin to import the modules of collectors in another process, in parallel with this process. Returns at once."""
    from collectorfleet.transport.distributed.launcher import LocalProcesses

    LocalProcesses.prepare()


def gpus_here() -> float:
    """Return the number of GPUs of this machine."""
    import torch

    return float(torch.cuda.device_count())


def local_processes(gpus_per_collector: float, output: Path | None) -> LocalProcesses:
    """Return a launcher of collectors. Their output is written to the file ``output``.

    If ``output`` is None, collectors write to the output of this process.
    """
    from collectorfleet.transport.distributed.launcher import LocalProcesses

    return LocalProcesses(gpus_per_collector=gpus_per_collector, output=output)
