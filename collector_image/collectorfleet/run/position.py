"""Where a run is, and where its next driver begins. Pure.

A driver that is lost leaves several records of how far it was, each as old as its last write: its checkpoint, its
status, its journal. All that was ever handed out only grows, so the largest record of that is the truest; what of it is
not in the checkpoint is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from collectorfleet_api.v1alpha1 import DriverReport


@dataclass(frozen=True)
class Position:
    """``version`` is the newest that may have been published; ``frames_lost`` counts in no other number."""

    frames: int = 0
    batches: int = 0
    version: int = 0
    frames_lost: int = 0

    @property
    def frames_ever(self) -> int:
        """Handed out by all drivers of the run."""
        return self.frames + self.frames_lost

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Position:
        return cls(**{name: int(found[name]) for name in asdict(cls())})

    @classmethod
    def reached(cls, counters: Mapping[str, Any], frames_lost: int) -> Position:
        """As a collector counts."""
        return cls(counters["frames"], counters["batches"], counters["version"], frames_lost)

    @classmethod
    def of(cls, report: DriverReport | None) -> Position:
        """As a status tells it."""
        progress, weights = (report.progress, report.weights) if report else (None, None)
        return cls(
            frames=progress.frames_delivered if progress else 0,
            batches=progress.batches if progress else 0,
            version=(weights.published or 0) if weights else 0,
            frames_lost=progress.frames_lost if progress else 0,
        )


def resumed(saved: Position, records: Iterable[Position]) -> Position:
    """Where a driver begins that goes on from ``saved``, given what else is known of those before it.

    Its first version is the next one: no version is published twice.
    """
    known = [saved, *records]
    ever = max(one.frames_ever for one in known)
    return replace(saved, version=max(one.version for one in known), frames_lost=ever - saved.frames)
