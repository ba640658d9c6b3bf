"""Decide which published versions are evaluated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """The interval between two evaluations. One of versions, seconds and frames is set."""

    versions: int | None = None
    seconds: float | None = None
    frames: int | None = None


class Schedule:
    """Decides whether a version is due. Call it with every published version, in order."""

    def __init__(self, interval: Interval) -> None:
        self._interval = interval
        self._due_at: float | None = None  # seconds
        self._due_from: int | None = None  # frames

    def is_due(self, version: int, frames: int, now: float) -> bool:
        """Return whether this version is due, and move on to the next due time.

        Args:
            version: the published version.
            frames: the frames that were handed out before.
            now: seconds of a monotonic clock.
        """
        match self._interval:
            case Interval(versions=int(every)):
                return version % every == 0
            case Interval(seconds=float(seconds)):
                if self._due_at is None:
                    self._due_at = now + seconds
                    return False
                if now < self._due_at:
                    return False
                # Count from the due time, so that delays of publishes do not add up. Missed intervals are skipped.
                self._due_at += seconds * (1 + (now - self._due_at) // seconds)
                return True
            case Interval(frames=int(every)):
                if self._due_from is None:
                    # Multiples of the interval, so that a resumed run has the same due frames as its first run.
                    self._due_from = (frames // every + 1) * every
                    return False
                if frames < self._due_from:
                    return False
                self._due_from = (frames // every + 1) * every
                return True
        raise ValueError(f"{self._interval} has no interval")
