"""A checkpoint as a value: where it is, and how far its run was. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from collectorfleet.run.position import Position


@dataclass(frozen=True)
class Checkpoint:
    """A whole one. ``completed``: its run had nothing left to do. ``replay_buffer``: a dump, where it has one."""

    number: int
    position: Position
    time: datetime
    completed: bool
    state_file: Path
    replay_buffer: Path | None = None
