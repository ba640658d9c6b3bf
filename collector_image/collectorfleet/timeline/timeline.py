"""What is kept of a run, as a file has it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Model


class Span(Model):
    """A collector in one state, from ``begin`` to ``end`` in seconds since the epoch."""

    state: str
    begin: float
    end: float


class Happened(Model):
    """Something that is told of at its time: a collector lost, a driver started again."""

    time: float
    what: str
    collector: str | None = None


class Evaluated(Model):
    """The result of one evaluation, which ended at ``time``.

    ``frames`` were handed out when ``version`` was published. ``standard_error`` is that of ``return_mean``; one
    episode has none.
    """

    time: float
    version: int
    frames: int
    return_mean: float
    standard_error: float | None = None
    episodes: int | None = None

    @property
    def key(self) -> tuple[float, int]:
        """By which results are ordered and told apart."""
        return self.time, self.version


class Earlier(Model):
    """The configuration of earlier drivers, until about ``until_frames`` were handed out."""

    until_frames: int
    configuration: dict[str, Any]


class Timeline(Model):
    """Times are seconds since the epoch. ``series`` are as long as ``times``, see :class:`.points.Points`.

    ``evaluations`` are in the order of their ends, see :class:`.evaluations.Evaluations`.
    ``configuration`` is that of the newest driver, see :mod:`.configuration`, and ``earlier`` has those before it,
    oldest first. A ConfigMap leaves out what is too large for it.
    """

    fleet: str
    began: float
    times: list[float] = Field(default_factory=list)
    series: dict[str, list[float | None]] = Field(default_factory=dict)
    every: float = 0.0
    total_frames: int | None = None
    lives: dict[str, list[Span]] = Field(default_factory=dict)
    evaluations: list[Evaluated] = Field(default_factory=list)
    happened: list[Happened] = Field(default_factory=list)
    left_out: Count = 0  # of what happened, the oldest
    ended: str | None = None  # in its own words
    configuration: dict[str, Any] | None = None
    earlier: list[Earlier] = Field(default_factory=list)
