"""Define a checkpoint: its path on disk, and the progress of its run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from collectorfleet.run.position import Position


@dataclass(frozen=True)
class Checkpoint:
    """An undamaged checkpoint. ``completed`` is True if the run's work was done.

    ``replay_buffer`` is the path of the replay buffer's dump, or None if the checkpoint has no dump.
    """

    number: int
    position: Position
    time: datetime
    completed: bool
    state_file: Path
    replay_buffer: Path | None = None
