"""Draw the states of each collector over time, as one row of an SVG. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from collectorfleet.display.report.plot import LEFT, RIGHT, WIDTH, Frame, figure, key, marks, time_axis
from collectorfleet.timeline.timeline import Span

_LANE: Final = 16
_BAR: Final = 10


def lives(frame: Frame, began: float, of_each: Mapping[str, Sequence[Span]]) -> str:
    """Draw a row for each collector, with a bar for each state in the state's color. Return "" without collectors.

    Rows are in the order of the collectors' numbers. ``began`` is the start of the run in seconds since the epoch.
    """
    if not of_each:
        return ""
    names = sorted(of_each, key=lambda name: (len(name), name))
    bottom = 6 + _LANE * len(names)
    parts = [*time_axis(frame, bottom), *marks(frame, 6, bottom)]
    for place, name in enumerate(names):
        top = 6 + _LANE * place + (_LANE - _BAR) / 2
        parts.append(f'<text class="tick" x="{LEFT - 7}" y="{top + 9}" text-anchor="end">{escape(name)}</text>')
        for span in of_each[name]:
            left, right = frame.x(max(0.0, span.begin - began)), frame.x(max(0.0, span.end - began))
            width = max(1.0, round(right - left, 1))
            title = f"<title>{escape(f'{name}: {span.state}')}</title>"
            parts.append(
                f'<rect class="state {escape(span.state)}" x="{left}" y="{top}" width="{width}" height="{_BAR}">'
                f"{title}</rect>"
            )
    states = sorted({span.state for spans in of_each.values() for span in spans})
    parts += _legend(states)
    return figure("Collectors", max(bottom, 20 * 5) + 26, parts, key([(state, state) for state in states]))


def _legend(states: Sequence[str]) -> list[str]:
    parts, x = [], WIDTH - RIGHT + 10
    for place, state in enumerate(states):
        y = 10 + 18 * place
        parts.append(f'<rect class="state {escape(state)}" x="{x}" y="{y}" width="{_BAR}" height="{_BAR}"/>')
        parts.append(f'<text class="tick" x="{x + 16}" y="{y + 9}">{escape(state)}</text>')
    return parts
