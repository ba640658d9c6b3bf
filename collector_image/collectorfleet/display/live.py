"""Show a table of a running fleet on a terminal, and keep it up to date."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from collectorfleet.display import text
from collectorfleet.display.plain import plain
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import CollectorState, CollectorStatus, DriverReport, Progress, WeightsStatus

REDRAWS_PER_SECOND = 4
MOST_ROWS = 12  # more rows would push the totals off the screen; the report lists the worst collectors first

_COLOURS = {
    CollectorState.READY: "green",
    CollectorState.STARTING: "yellow",
    CollectorState.JOINING: "yellow",
    CollectorState.RETIRED: "red",
    CollectorState.FAILED: "red",
}


class LiveTable:
    """A context manager that redraws the table on ``console`` until its exit.

    Output of the user's code scrolls above the table. A thread of rich calls ``report`` at each redraw.
    """

    def __init__(self, name: str, report: Callable[[], DriverReport], console: Console) -> None:
        self._name = name
        self._report = report
        self._started = time.monotonic()
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=REDRAWS_PER_SECOND)

    def __enter__(self) -> LiveTable:
        with suppress(OSError):
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        # If the user has closed the terminal, the run continues.
        with suppress(OSError):
            self._live.stop()

    def _draw(self) -> RenderableType:
        return table(self._name, self._report(), time.monotonic() - self._started)


def table(name: str, report: DriverReport, elapsed_seconds: float) -> RenderableType:
    """Return the totals of a fleet and a row for each of its first ``MOST_ROWS`` collectors."""
    rows = report.collectors[:MOST_ROWS]
    parts: list[RenderableType] = [_totals(name, report, elapsed_seconds)]
    if rows:
        parts.append(_collectors(rows))
    if len(report.collectors) > len(rows):
        parts.append(Text(f"and {counted(len(report.collectors) - len(rows), 'more collector')}", style="dim"))
    return Group(*parts)


def _totals(name: str, report: DriverReport, elapsed_seconds: float) -> Table:
    progress, weights, seen = report.progress or Progress(), report.weights or WeightsStatus(), report.evaluation
    totals = Table.grid(padding=(0, 2))
    totals.add_column(style="bold")
    totals.add_column()
    versions = f"version {text.number(weights.published)}, acknowledged {text.number(weights.acknowledged)}"
    for label, value in (
        ("fleet", f"{name}  {elapsed_seconds:.0f} s"),
        ("frames", f"{text.frames(progress)}  {text.rate(progress)} frames/s"),
        ("weights", versions),
        ("staleness", text.staleness(weights.staleness)),
        ("episodes", text.ended(progress.episodes) if progress.episodes else text.UNKNOWN),
        *([("evaluation", "  ".join([text.evaluations(seen), *text.unfinished(report)]))] if seen else []),
        ("metrics", text.metrics(progress.metrics)),
        ("collectors", text.collectors(progress)),
    ):
        totals.add_row(label, _cell(value))
    return totals


def _collectors(rows: list[CollectorStatus]) -> Table:
    drawn = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("collector", "state", "weights", "batches", "frames", "restarts", "last error"):
        drawn.add_column(column, no_wrap=True)
    for row in rows:
        drawn.add_row(
            _cell(row.name),
            _cell(row.state.value, style=_COLOURS[row.state]),
            _cell(text.number(row.applied_version)),
            _cell(str(row.batches)),
            _cell(f"{row.frames:,}"),
            _cell(str(row.restarts)),
            _cell(row.last_error or ""),
        )
    return drawn


def _cell(shown: str, style: str = "") -> Text:
    """Return ``shown`` as a Text, because rich reads square brackets in a str as markup."""
    return Text(plain(shown), style=style)
