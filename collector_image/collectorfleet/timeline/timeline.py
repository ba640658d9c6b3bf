"""Define the timeline of a run, and its format in files."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from pydantic import Field, model_validator

from collectorfleet_api.v1alpha1.base import Count, Model

# The last second that a datetime of Python can represent.
_LAST_SECOND: Final = 253_402_300_799
Seconds = Annotated[float, Field(ge=0, le=_LAST_SECOND)]


class Span(Model):
    """A collector in one state, from ``begin`` to ``end`` in seconds since the epoch."""

    state: str
    begin: Seconds
    end: Seconds


class RunEvent(Model):
    """An event at one time, such as a lost collector or a restarted driver."""

    time: Seconds
    what: str
    collector: str | None = None


class Evaluated(Model):
    """The result of one evaluation, which ended at ``time``.

    ``frames`` is the number of frames delivered when ``version`` was published. ``standard_error`` is the standard
    error of ``return_mean``, or None if the evaluation has only one episode.
    """

    time: Seconds
    version: int
    frames: int
    return_mean: float
    standard_error: float | None = None
    episodes: int | None = None

    @property
    def key(self) -> tuple[float, int]:
        """The key that orders and identifies results."""
        return self.time, self.version


class Earlier(Model):
    """The configuration of earlier drivers, used until about ``until_frames`` frames were delivered."""

    until_frames: int
    configuration: dict[str, Any]


class Timeline(Model):
    """The timeline of a run. Times are seconds since the epoch. For ``series`` see :class:`.points.Points`.

    ``evaluations`` are ordered by their end, see :class:`.evaluations.Evaluations`. ``configuration`` is the
    configuration of the newest driver, see :mod:`.configuration`. ``earlier`` has the configurations of earlier
    drivers, oldest first. A ConfigMap leaves out configurations that are too large.
    """

    fleet: str
    began: Seconds
    times: list[Seconds] = Field(default_factory=list)
    series: dict[str, list[float | None]] = Field(default_factory=dict)
    every: float = 0.0
    total_frames: int | None = None
    lives: dict[str, list[Span]] = Field(default_factory=dict)
    evaluations: list[Evaluated] = Field(default_factory=list)
    happened: list[RunEvent] = Field(default_factory=list)
    left_out: Count = 0  # number of dropped events; the oldest are dropped first
    ended: str | None = None  # a sentence on how the run ended
    configuration: dict[str, Any] | None = None
    earlier: list[Earlier] = Field(default_factory=list)

    @model_validator(mode="after")
    def _have_equal_lengths(self) -> Self:
        for name, values in self.series.items():
            if len(values) != len(self.times):
                raise ValueError(
                    f"series {name!r} has {len(values)} values, but the timeline has {len(self.times)} times"
                )
        return self
