"""Draw the results of evaluations over the frames of the run, as SVG. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

from collectorfleet.display.report import ticks
from collectorfleet.display.report.plot import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, figure, key, scale_of, value_axis
from collectorfleet.timeline.timeline import Evaluated
from collectorfleet_api.counts import counted

_TITLE: Final = "Mean return of evaluations over frames, with standard error and weights version"
_APART: Final = 46  # pixels between two versions
_RADIUS: Final = 2.6

Scale = Callable[[float], float]


def evaluations(results: Sequence[Evaluated]) -> str:
    """Draw a point with an error bar for each result. The best result has another color. Return "" without results."""
    if not results:
        return ""
    rows = ticks.of_numbers(min(0.0, *map(_least, results)), max(map(_most, results)))
    columns = ticks.of_numbers(0.0, max(1, *(one.frames for one in results)), about=7, whole=True)
    y = scale_of(rows)

    def x(frames: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * frames / columns[-1].at, 1)

    best = best_of(results)
    parts = [*value_axis(rows, y), *_frames_axis(columns, x), *_lines(results, x, y)]
    for one in results:
        parts += _point(one, x, y, "c2" if one is best else "c1")
    parts += [*_versions(results, best, x, y), *_names(results[-1], best, y)]
    return figure(_TITLE, HEIGHT, parts, key([("mean", "c1"), ("best", "c2")]))


def best_of(results: Sequence[Evaluated]) -> Evaluated:
    """Return the first result with the highest mean."""
    return max(results, key=lambda one: one.return_mean)


def spread(one: Evaluated) -> str:
    """Return the mean and its standard error, such as ``471.2 ±4.1``."""
    error = "" if one.standard_error is None else f" ±{one.standard_error:.2g}"
    return f"{ticks.number(one.return_mean)}{error}"


def _least(one: Evaluated) -> float:
    return one.return_mean - (one.standard_error or 0.0)


def _most(one: Evaluated) -> float:
    return one.return_mean + (one.standard_error or 0.0)


def _frames_axis(columns: Sequence[ticks.Tick], x: Scale) -> Iterator[str]:
    y = HEIGHT - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    for tick in columns:
        yield f'<line class="axis" x1="{x(tick.at)}" x2="{x(tick.at)}" y1="{y}" y2="{y + 4}"/>'
        yield f'<text class="tick" x="{x(tick.at)}" y="{y + 18}" text-anchor="middle">{tick.text}</text>'


def _lines(results: Sequence[Evaluated], x: Scale, y: Scale) -> Iterator[str]:
    """Yield a line through the means.

    A driver that resumed from a checkpoint begins with fewer frames, so a separate line connects its results.
    """
    run: list[Evaluated] = []
    for one in [*results, None]:
        if run and (one is None or one.frames < run[-1].frames):
            points = " ".join(f"{x(point.frames)},{y(point.return_mean)}" for point in run)
            if len(run) > 1:
                yield f'<polyline class="c1" points="{points}"/>'
            run = []
        if one is not None:
            run.append(one)


def _point(one: Evaluated, x: Scale, y: Scale, color: str) -> Iterator[str]:
    at, of = x(one.frames), f" over {counted(one.episodes, 'episode')}" if one.episodes is not None else ""
    if one.standard_error is not None:
        yield f'<line class="error {color}" x1="{at}" x2="{at}" y1="{y(_least(one))}" y2="{y(_most(one))}"/>'
    said = escape(f"version {one.version}: {spread(one)}{of}, at {counted(one.frames, 'frame', by_thousands=True)}")
    place = f'cx="{at}" cy="{y(one.return_mean)}" r="{_RADIUS}"'
    yield f'<circle class="point {color}" {place}><title>{said}</title></circle>'


def _versions(results: Sequence[Evaluated], best: Evaluated, x: Scale, y: Scale) -> Iterator[str]:
    """Yield the version as text at the best and the newest result, and at other results if the texts do not overlap."""
    named: list[float] = []
    for one in [best, results[-1], *results]:
        at = x(one.frames)
        if all(abs(at - other) >= _APART for other in named):
            named.append(at)
            above = max(11.0, round(y(_most(one)) - 6, 1))
            yield f'<text class="tick" x="{at}" y="{above}" text-anchor="middle">v{one.version}</text>'


def _names(newest: Evaluated, best: Evaluated, y: Scale) -> Iterator[str]:
    """Yield the texts of the best and the newest result at the right. If both are the same result, yield one text."""
    shown = [("c2", "best", best), *([("c1", "newest", newest)] if best is not newest else [])]
    lowest = 0.0
    for color, name, one in sorted(shown, key=lambda found: y(found[2].return_mean)):
        lowest = max(y(one.return_mean) + 4, lowest + 15)
        text = escape(f"{name} {spread(one)}")
        yield f'<text class="name {color}" x="{WIDTH - RIGHT + 7}" y="{lowest}">{text}</text>'
