"""What a run's earlier drivers left behind, as values. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.position import Position


@dataclass(frozen=True)
class RunHistory:
    """The first driver of a run finds its name alone.

    A lost driver leaves several records of its progress, each as old as its last write: its checkpoint, its status, its
    journal.
    """

    run_id: str  # all drivers of a run have the same; an output's manifest says whose it is
    drivers: int = 0  # before this one
    checkpoint: Checkpoint | None = None
    records: tuple[Position, ...] = ()  # as the status and the journal have it
