"""Draw one plot as SVG: lines over the time of the run, each with its name at its end. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from typing import Final

from collectorfleet.display.report import ticks

WIDTH: Final = 760
HEIGHT: Final = 210
LEFT: Final = 62
RIGHT: Final = 132
TOP, BOTTOM = 12, 26
_LEAST_APART: Final = 15  # pixels between two names at the right

Values = Sequence[float | None]
Scale = Callable[[float], float]


@dataclass(frozen=True)
class Line:
    """A line of a plot, with a value for each time of the frame. An unknown value is None.

    ``color`` is a CSS class of the page. With ``steps``, the line keeps a value until the next value.
    """

    name: str
    values: Values
    color: str
    steps: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Frame:
    """The time axis that all plots of a page share. ``times`` and ``marks`` are seconds since the run began.

    Each line has a value at each of ``times``. ``marks`` are the times of events.
    """

    times: Sequence[float]
    marks: Sequence[float] = ()

    @property
    def seconds(self) -> float:
        """Return the length of the axis in seconds, at least 1."""
        return max([1.0, *self.times[-1:], *self.marks])

    def x(self, time: float) -> float:
        """Return the horizontal position in pixels of a time in seconds."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * time / self.seconds, 1)


def plot(
    title: str, frame: Frame, lines: Sequence[Line], band: tuple[Values, Values] | None = None, *, whole: bool = False
) -> str:
    """Draw ``lines`` over the time of the run. Return an empty string if no value is known.

    ``band`` has two rows of values. The area between them is filled. With ``whole``, only whole numbers have ticks.
    """
    known = [value for line in lines for value in line.values if value is not None]
    known += [value for row in band or () for value in row if value is not None]
    if not known:
        return ""
    rows = ticks.of_numbers(min(0.0, *known) if min(known) >= 0 else min(known), max(known), whole=whole)
    y = scale_of(rows)
    parts = [*value_axis(rows, y), *time_axis(frame, HEIGHT - BOTTOM), *marks(frame, TOP, HEIGHT - BOTTOM)]
    if band is not None:
        parts += [_area(run, frame, y) for run in _runs([frame.times, *band])]
    for line in lines:
        dashes = ' stroke-dasharray="5 4"' if line.dashed else ""
        parts += [
            f'<polyline class="{line.color}"{dashes} points="{_points(run, frame, y, steps=line.steps)}"/>'
            for run in _runs([frame.times, line.values])
        ]
    parts += _names(lines, y)
    return figure(title, HEIGHT, parts, key([(line.name, line.color) for line in lines]))


def scale_of(rows: Sequence[ticks.Tick]) -> Scale:
    """Return a function from a value to its vertical position in pixels.

    The value axis begins at the first tick of ``rows`` and ends at their last tick.
    """
    least, most = rows[0].at, rows[-1].at
    return lambda value: round(TOP + (HEIGHT - TOP - BOTTOM) * (most - value) / (most - least), 1)


def value_axis(rows: Sequence[ticks.Tick], y: Scale) -> list[str]:
    """Return a line across the plot for each tick, with its text at the left."""
    lines = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(row.at)}" y2="{y(row.at)}"/>' for row in rows]
    texts = [
        f'<text class="tick" x="{LEFT - 7}" y="{y(row.at) + 4}" text-anchor="end">{row.text}</text>' for row in rows
    ]
    return [*lines, *texts]


def figure(title: str, height: int, parts: Iterable[str], key: str = "") -> str:
    """Return a figure with a caption and an SVG. The title is also the label that screen readers read."""
    return (
        f"<figure><figcaption>{escape(title)}{key}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def time_axis(frame: Frame, y: float) -> list[str]:
    """Return the time axis at height ``y``, with its ticks below."""
    parts = [f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>']
    for tick in ticks.of_time(frame.seconds):
        x = frame.x(tick.at)
        parts.append(f'<line class="axis" x1="{x}" x2="{x}" y1="{y}" y2="{y + 4}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{y + 18}" text-anchor="middle">{tick.text}</text>')
    return parts


def marks(frame: Frame, top: float, bottom: float) -> list[str]:
    """Return a thin vertical line at the time of each event."""
    places = sorted({frame.x(time) for time in frame.marks})
    return [f'<line class="mark" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>' for x in places]


def _runs(columns: Sequence[Values]) -> list[list[tuple[float, ...]]]:
    """Return each series of consecutive rows whose values are all known."""
    rows = list(zip(*columns, strict=True))
    groups = groupby(rows, key=lambda row: all(value is not None for value in row))
    return [[tuple(value for value in row if value is not None) for row in group] for whole, group in groups if whole]


def _points(run: Sequence[tuple[float, ...]], frame: Frame, y: Scale, *, steps: bool) -> str:
    places = [(frame.x(time), y(value)) for time, value in run]
    if steps:
        places = [*(place for (x0, y0), (x1, _) in pairwise(places) for place in ((x0, y0), (x1, y0))), places[-1]]
    if len(places) == 1:  # SVG draws no line of one point
        places.append((places[0][0] + 1, places[0][1]))
    return " ".join(f"{x},{y_}" for x, y_ in places)


def _area(run: Sequence[tuple[float, ...]], frame: Frame, y: Scale) -> str:
    there = [f"{frame.x(time)},{y(low)}" for time, low, _ in run]
    back = [f"{frame.x(time)},{y(high)}" for time, _, high in reversed(run)]
    return f'<polygon class="band" points="{" ".join((*there, *back))}"/>'


def key(colors: Sequence[tuple[str, str]]) -> str:
    """Return a legend of names and their CSS classes. Return "" for fewer than two names.

    The legend is visible only if the page is too narrow for the names at the right.
    """
    if len(colors) < 2:
        return ""
    names = "".join(f'<span class="{escape(color)}">{escape(name)}</span>' for name, color in colors)
    return f'<span class="key">{names}</span>'


def _names(lines: Sequence[Line], y: Scale) -> list[str]:
    """Return the name and the last value of each line beside its end, without overlaps."""
    last = [(next((v for v in reversed(line.values) if v is not None), None), line) for line in lines]
    ends = sorted(((y(value), value, line) for value, line in last if value is not None), key=lambda end: end[0])
    parts, lowest = [], 0.0
    for place, value, line in ends:
        lowest = max(place + 4, lowest + _LEAST_APART)
        text = escape(f"{line.name} {ticks.number(value)}")
        parts.append(f'<text class="name {line.color}" x="{WIDTH - RIGHT + 7}" y="{lowest}">{text}</text>')
    return parts
