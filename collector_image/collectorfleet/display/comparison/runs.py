"""Read the returns of a run as curves for the comparison. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from collectorfleet.errors import InvalidOption
from collectorfleet.timeline.configuration import Configuration
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.counts import counted


class Source(Enum):
    """The kind of episodes whose returns are compared."""

    EVALUATION = "evaluation"
    TRAINING = "training"


class Axis(Enum):
    """The horizontal axis of a chart."""

    FRAMES = "frames"
    TIME = "time"


@dataclass(frozen=True)
class Run:
    """A run with its timeline.

    ``name`` is the command-line argument that names the run. ``state`` is its current state in one sentence.
    """

    name: str
    timeline: Timeline
    configuration: Configuration | None = None
    state: str = ""

    @property
    def frames(self) -> float:
        """Return the newest number of delivered frames in the timeline."""
        return next((value for value in reversed(self.timeline.series.get("frames", [])) if value is not None), 0.0)

    @property
    def seconds(self) -> float:
        """Return the seconds from the beginning of the run to the newest point."""
        return self.timeline.times[-1] - self.timeline.began if self.timeline.times else 0.0


@dataclass(frozen=True)
class Curve:
    """The returns of one run. ``xs`` are frames, or seconds from the beginning of the run, in increasing order."""

    xs: Sequence[float]
    ys: Sequence[float]


@dataclass(frozen=True)
class _Point:
    frames: float
    seconds: float
    value: float


def check(run: Run) -> None:
    """Raise InvalidOption if the run has no returns, or if its timeline is damaged."""
    if any(after < before for before, after in pairwise(run.timeline.times)):
        raise InvalidOption(f"{run.name}: its timeline is damaged: its times do not increase")
    if curve(run, Source.TRAINING, Axis.TIME) is None and curve(run, Source.EVALUATION, Axis.TIME) is None:
        seen = counted(round(run.frames), "frame", by_thousands=True)
        raise InvalidOption(f"{run.name}: it has no returns yet: no episode has ended in {seen}")


def curve(run: Run, source: Source, axis: Axis) -> Curve | None:
    """Return the run's returns along ``axis``, or None if the run has no returns."""
    points = _evaluated(run.timeline) if source is Source.EVALUATION else _trained(run.timeline)
    kept = _last_driver_wins(points) if axis is Axis.FRAMES else _in_time(points)
    if not kept:
        return None
    return Curve([one.frames if axis is Axis.FRAMES else one.seconds for one in kept], [one.value for one in kept])


def _trained(run: Timeline) -> Iterable[_Point]:
    """Yield the mean return of the last 100 episodes at each point of the timeline."""
    rows = zip(run.times, run.series.get("frames", []), run.series.get("return", []), strict=False)
    for time, frames, value in rows:
        if frames is not None and value is not None:
            yield _Point(frames, time - run.began, value)


def _evaluated(run: Timeline) -> Iterable[_Point]:
    for one in run.evaluations:
        yield _Point(one.frames, one.time - run.began, one.return_mean)


def _last_driver_wins(points: Iterable[_Point]) -> list[_Point]:
    """Return the points, except the points that a later driver repeated.

    After a resume, a driver collects the frames since its checkpoint again. The policy is trained on the newer frames
    only.
    """
    kept: list[_Point] = []
    for point in points:
        while kept and kept[-1].frames >= point.frames:
            kept.pop()
        kept.append(point)
    return kept


def _in_time(points: Iterable[_Point]) -> list[_Point]:
    kept: list[_Point] = []
    for point in points:
        if kept and kept[-1].seconds >= point.seconds:
            kept.pop()
        kept.append(point)
    return kept
