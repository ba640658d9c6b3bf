"""Align rows of text in columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from collectorfleet.display import text
from collectorfleet.display.plain import plain
from collectorfleet_api.v1alpha1 import run_progress


def columns(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> list[str]:
    """Return a line for each row, with the columns aligned. The last column has no padding.

    ``least`` has the minimum width of each column. Cells may contain a user's text, so control characters are escaped.
    """
    wide = widths(rows, least)[:-1]
    return ["  ".join([*map(str.ljust, row, wide), row[-1]]).rstrip() for row in _plain(rows)]


def widths(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> list[int]:
    """Return the width of each column: the width of its longest cell, and at least ``least``."""
    wide = [list(map(len, row)) for row in _plain(rows)]
    return [max(column) for column in zip(*wide, *([least] if least else []), strict=True)]


def ago(then: datetime | None, now: datetime) -> str:
    """Return the time from ``then`` until ``now``, such as ``2m37s``. Return ``-`` if ``then`` is None."""
    return run_progress.duration(max(now - then, timedelta()).total_seconds()) if then else text.UNKNOWN


def _plain(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[plain(cell) for cell in row] for row in rows]
