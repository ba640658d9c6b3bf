"""Place the ticks of an axis, and format their numbers. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

_SECOND, _MINUTE, _HOUR, _DAY = 1.0, 60.0, 3600.0, 86400.0
_TIMES: Final = (
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14, 28)),
)
_MOST_PLACES: Final = 6
_THOUSANDS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


class Tick(NamedTuple):
    """A position on an axis, and the text beside it."""

    at: float
    text: str


def of_numbers(least: float, most: float, about: int = 4, *, whole: bool = False) -> Sequence[Tick]:
    """Return about ``about`` ticks that cover the range from ``least`` to ``most``.

    The step between ticks is 1, 2 or 5 times a power of ten. With ``whole``, the step is at least 1.
    """
    size = max(abs(least), abs(most), 1e-12)
    if most - least <= 1e-9 * size:  # an axis needs a range, also for one value
        least, most = (least - 0.1 * size, most + 0.1 * size) if least or most else (0.0, 1.0)
    rough = (most - least) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [Tick(n * step, number(n * step, step)) for n in range(first, last + 1)]


def of_time(seconds: float, about: int = 7) -> Sequence[Tick]:
    """Return ticks at round times from 0 to ``seconds``, with at most ``about`` steps between them."""
    step = next((one for one in _TIMES if seconds / one <= about), None)
    if step is None:
        step = _DAY * math.ceil(seconds / about / _DAY)
    return [Tick(n * step, duration(n * step)) for n in range(int(seconds / step + 1e-9) + 1)]


def duration(seconds: float) -> str:
    """Format a duration in at most two units: ``45 s``, ``2 min``, ``1 h 30 min``, ``3 d``. Return ``0`` below 1 s."""
    if seconds < 1:
        return "0"
    parts, rest = [], round(seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def number(value: float, step: float | None = None) -> str:
    """Format ``value`` with k, M, G or T. The text has enough digits to distinguish values that are one ``step`` apart.

    Without ``step``, the text has at most four digits.
    """
    if value == 0:
        return "0"
    if step is None:
        size, letter = _thousands(abs(value), 0.0)
        return f"{value / size:.4g}{letter}"
    size, letter = _thousands(abs(value), step)
    places = max(0, -math.floor(math.log10(step / size) + 1e-9))
    if places > _MOST_PLACES:
        return f"{value:.{math.ceil(math.log10(max(abs(value) / step, 1))) + 1}g}"
    return f"{value / size:,.{places}f}{letter}"


def _thousands(value: float, step: float) -> tuple[float, str]:
    """Return a divisor and its letter.

    If two values are ``step`` apart, their quotients differ within three decimal places.
    """
    fits = (one for one in _THOUSANDS if value >= one[0] * 0.9995 and (not step or step >= one[0] * 0.9995e-3))
    return next(fits, (1.0, ""))
