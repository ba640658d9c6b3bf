"""What is kept of a run, as a file has it."""

from __future__ import annotations

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


class Timeline(Model):
    """Times are seconds since the epoch. ``series`` are as long as ``times``, see :class:`.points.Points`."""

    fleet: str
    began: float
    times: list[float] = Field(default_factory=list)
    series: dict[str, list[float | None]] = Field(default_factory=dict)
    every: float = 0.0
    total_frames: int | None = None
    lives: dict[str, list[Span]] = Field(default_factory=dict)
    happened: list[Happened] = Field(default_factory=list)
    left_out: Count = 0  # of what happened, the oldest
    ended: str | None = None  # in its own words
