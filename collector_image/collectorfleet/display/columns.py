"""Rows of text under each other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from collectorfleet.display import text
from collectorfleet.display.plain import plain
from collectorfleet_api.v1alpha1 import course


def columns(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> list[str]:
    """Rows under each other, each column as wide as its longest cell, and as ``least``; the last one as it is.

    Cells may be what a user wrote: no character of theirs controls the terminal.
    """
    wide = widths(rows, least)[:-1]
    return ["  ".join([*map(str.ljust, row, wide), row[-1]]).rstrip() for row in _plain(rows)]


def widths(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> list[int]:
    """Return how wide each column is, and at least as ``least`` says."""
    wide = [list(map(len, row)) for row in _plain(rows)]
    return [max(column) for column in zip(*wide, *([least] if least else []), strict=True)]


def ago(then: datetime | None, now: datetime) -> str:
    """``5 min``; how long it is since ``then``."""
    return course.duration(max(now - then, timedelta()).total_seconds()) if then else text.UNKNOWN


def _plain(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[plain(cell) for cell in row] for row in rows]
