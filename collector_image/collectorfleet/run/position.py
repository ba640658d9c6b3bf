"""Define the progress of a run as counters. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from collectorfleet_api.v1alpha1 import DriverReport


@dataclass(frozen=True)
class Position:
    """The progress of a run.

    ``version`` is the newest version that may have been published. ``frames`` does not include ``frames_lost``.
    """

    frames: int = 0
    batches: int = 0
    version: int = 0
    frames_lost: int = 0

    @property
    def frames_ever(self) -> int:
        """Frames delivered by all drivers of the run."""
        return self.frames + self.frames_lost

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Position:
        """Return the position in a JSON object. Ignores unknown counters. Raises KeyError if a counter is missing."""
        return cls(**{name: int(found[name]) for name in asdict(cls())})

    @classmethod
    def of_counters(cls, counters: Mapping[str, Any], frames_lost: int) -> Position:
        """Return the position for the counters of a collector."""
        return cls(counters["frames"], counters["batches"], counters["version"], frames_lost)

    @classmethod
    def of_report(cls, report: DriverReport | None) -> Position:
        """Return the position in a status, with 0 for missing counters."""
        progress, weights = (report.progress, report.weights) if report else (None, None)
        return cls(
            frames=progress.frames_delivered if progress else 0,
            batches=progress.batches if progress else 0,
            version=(weights.published or 0) if weights else 0,
            frames_lost=progress.frames_lost if progress else 0,
        )
