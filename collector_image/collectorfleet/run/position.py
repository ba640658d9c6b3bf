"""Where a run is, as counters. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
        """Counters of a newer release are left out. Raises KeyError where one is missing."""
        return cls(**{name: int(found[name]) for name in asdict(cls())})

    @classmethod
    def of_counters(cls, counters: Mapping[str, Any], frames_lost: int) -> Position:
        """As a collector counts."""
        return cls(counters["frames"], counters["batches"], counters["version"], frames_lost)

    @classmethod
    def of_report(cls, report: DriverReport | None) -> Position:
        """As a status tells it."""
        progress, weights = (report.progress, report.weights) if report else (None, None)
        return cls(
            frames=progress.frames_delivered if progress else 0,
            batches=progress.batches if progress else 0,
            version=(weights.published or 0) if weights else 0,
            frames_lost=progress.frames_lost if progress else 0,
        )
