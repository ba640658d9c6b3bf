"""Draw one statistic of all groups over frames or time, as SVG. Pure.

The line of each group has its own combination of color and dashes, and its own letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from collectorfleet.display.comparison.runs import Axis
from collectorfleet.display.report import ticks
from collectorfleet.display.report.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, figure, scale_of, value_axis

COLORS: Final = 6
MOST_GROUPS: Final = 2 * COLORS
_APART: Final = 14  # pixels between two names

Scale = Callable[[float], float]


@dataclass(frozen=True)
class Line:
    """A statistic of the group at ``place``. ``low`` and ``high`` are None if the group has only one run."""

    place: int
    xs: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] | None
    high: Sequence[float] | None


def letter(place: int) -> str:
    """Return the letter of the group at ``place``."""
    return chr(ord("A") + place)


def style(place: int) -> str:
    """Return the CSS classes of the group at ``place``."""
    return f"g{place % COLORS} d{place // COLORS}"


def chart(title: str, axis: Axis, lines: Sequence[Line]) -> str:
    """Return the chart: each line, and its interval as an area. Return an empty string if there are no lines."""
    if not lines:
        return ""
    known = [value for line in lines for row in (line.values, line.low, line.high) for value in row or ()]
    rows = ticks.of_numbers(min(0.0, *known) if min(known) >= 0 else min(known), max(known))
    y = scale_of(rows)
    longest = max(line.xs[-1] for line in lines)
    columns = _columns(axis, longest)
    most = max(longest, columns[-1].at, 1.0)

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * value / most, 1)

    parts = [*value_axis(rows, y), *_x_axis(columns, x)]
    parts += [_area(line, x, y) for line in lines if line.low is not None and line.high is not None]
    parts += [_line(line, x, y) for line in lines]
    parts += _names(lines, x, y)
    return figure(title, HEIGHT, parts)


def _columns(axis: Axis, longest: float) -> Sequence[ticks.Tick]:
    if axis is Axis.TIME:
        return ticks.of_time(max(1.0, longest))
    return ticks.of_numbers(0.0, max(1.0, longest), about=7, whole=True)


def _x_axis(columns: Sequence[ticks.Tick], x: Scale) -> Iterator[str]:
    y = HEIGHT - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    for tick in columns:
        yield f'<line class="axis" x1="{x(tick.at)}" x2="{x(tick.at)}" y1="{y}" y2="{y + 4}"/>'
        yield f'<text class="tick" x="{x(tick.at)}" y="{y + 18}" text-anchor="middle">{tick.text}</text>'


def _area(line: Line, x: Scale, y: Scale) -> str:
    there = [f"{x(at)},{y(low)}" for at, low in zip(line.xs, line.low or (), strict=True)]
    back = [f"{x(at)},{y(high)}" for at, high in zip(line.xs, line.high or (), strict=True)]
    if len(there) == 1:  # SVG draws no area of one point
        (at, low), (_, high) = there[0].split(","), back[0].split(",")
        return f'<line class="bar {style(line.place)}" x1="{at}" x2="{at}" y1="{low}" y2="{high}"/>'
    return f'<polygon class="area {style(line.place)}" points="{" ".join([*there, *reversed(back)])}"/>'


def _line(line: Line, x: Scale, y: Scale) -> str:
    places = [(x(at), y(value)) for at, value in zip(line.xs, line.values, strict=True)]
    if len(places) == 1:  # SVG draws no line of one point
        (at, height) = places[0]
        return f'<circle class="dot {style(line.place)}" cx="{at}" cy="{height}" r="3.2"/>'
    return f'<polyline class="{style(line.place)}" points="{" ".join(f"{at},{height}" for at, height in places)}"/>'


def _names(lines: Sequence[Line], x: Scale, y: Scale) -> Iterator[str]:
    """Yield the letter and the last value of each line at the right, and the letter again on the line."""
    ends = sorted(((y(line.values[-1]), line) for line in lines), key=lambda end: end[0])
    for height, (_, line) in zip(_spread([end for end, _ in ends]), ends, strict=True):
        text = escape(f"{letter(line.place)} {ticks.number(line.values[-1])}")
        yield f'<text class="letter" x="{WIDTH - RIGHT + 7}" y="{height + 4}">{text}</text>'
    for number, line in enumerate(lines, start=1):
        # Each letter is at another part of its line, so that the letters of two equal lines do not overlap.
        on = min(len(line.xs) - 1, len(line.xs) * number // (len(lines) + 1))
        at, height = x(line.xs[on]), round(y(line.values[on]) + 4, 1)
        yield f'<text class="letter on" x="{at}" y="{height}" text-anchor="middle">{letter(line.place)}</text>'


def _spread(wanted: Sequence[float]) -> list[float]:
    """Return heights near ``wanted`` that are at least ``_APART`` pixels apart and inside the plot.

    ``wanted`` is in increasing order.
    """
    places: list[float] = []
    for one in wanted:
        places.append(max(one, places[-1] + _APART) if places else max(one, TOP + 0.0))
    limit = HEIGHT - BOTTOM - 4.0  # above the texts of the axis
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], limit)
        limit = places[index] - _APART
    return [round(place, 1) for place in places]
