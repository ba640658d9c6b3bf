"""Define the records that earlier drivers of a run left. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.position import Position


@dataclass(frozen=True)
class RunHistory:
    """The records of the earlier drivers of a run. For the first driver, only ``run_id`` is set.

    A lost driver leaves several records of its progress: its checkpoint, its status and its journal. The driver wrote
    these records at different times, so their progress may differ.
    """

    run_id: str  # the same for all drivers of a run; the manifest of an output contains it
    drivers: int = 0  # number of drivers before this driver
    checkpoint: Checkpoint | None = None
    records: tuple[Position, ...] = ()  # positions in the status and in the journal
