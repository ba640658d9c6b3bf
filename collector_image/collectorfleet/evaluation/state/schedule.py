"""Which published versions are to be evaluated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """One of the three is set: versions, seconds or frames between two evaluations."""

    versions: int | None = None
    seconds: float | None = None
    frames: int | None = None


class Schedule:
    """Asked with every version as it is published, in order."""

    def __init__(self, interval: Interval) -> None:
        self._interval = interval
        self._due_at: float | None = None  # seconds
        self._due_from: int | None = None  # frames

    def is_due(self, version: int, frames: int, now: float) -> bool:
        """Return whether this version is to be evaluated; it counts as asked then.

        Args:
            version: the version that was published.
            frames: the frames that were handed out before.
            now: seconds of a clock that only goes on.
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
                # From when it was due, so that late publishes do not add up; but none is made up for.
                self._due_at += seconds * (1 + (now - self._due_at) // seconds)
                return True
            case Interval(frames=int(every)):
                if self._due_from is None:
                    # A resumed run goes on at the multiples of its first run.
                    self._due_from = (frames // every + 1) * every
                    return False
                if frames < self._due_from:
                    return False
                self._due_from = (frames // every + 1) * every
                return True
        raise ValueError(f"{self._interval} has no interval")
