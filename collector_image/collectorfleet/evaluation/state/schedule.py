"""Decide which published versions are evaluated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """The interval between two evaluations. Exactly one of ``versions``, ``seconds`` and ``frames`` is set."""

    versions: int | None = None
    seconds: float | None = None
    frames: int | None = None


class Schedule:
    """Decides whether a version is due. Call :meth:`is_due` for every published version, in order."""

    def __init__(self, interval: Interval) -> None:
        self._interval = interval
        self._due_at: float | None = None  # seconds
        self._due_from: int | None = None  # frames

    def is_due(self, version: int, frames: int, now: float) -> bool:
        """Return whether this version is due. If it is due, set the next due time.

        Args:
            version: the published version.
            frames: the number of frames that were handed out before this version was published.
            now: the time of a monotonic clock, in seconds.
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
                # The next interval begins at the due time and not at ``now``. So late publishes do not shift later due
                # times. Due times that have passed are skipped.
                self._due_at += seconds * (1 + (now - self._due_at) // seconds)
                return True
            case Interval(frames=int(every)):
                if self._due_from is None:
                    # Versions become due at multiples of the interval. So a resumed run has the same due frames as the
                    # run before.
                    self._due_from = (frames // every + 1) * every
                    return False
                if frames < self._due_from:
                    return False
                self._due_from = (frames // every + 1) * every
                return True
        raise ValueError(f"{self._interval} has no interval")
