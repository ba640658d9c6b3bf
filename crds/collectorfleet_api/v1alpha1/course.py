"""How far a run is and how long it will take, in numbers and in the words of a column. Pure."""

from __future__ import annotations

from typing import Final

_DAY: Final = 86_400
_FEW: Final = 10  # of the larger unit: then the smaller one still says something


def percent(delivered: int, total: int | None) -> float | None:
    """Of the frames that were asked for; None where that is no number."""
    return min(100 * delivered / total, 100.0) if total else None


def seconds_left(delivered: int, total: int | None, frames_per_second: float | None) -> float | None:
    """At the rate of now; None where there is none, or no end."""
    if total is None or not frames_per_second:
        return None
    return max(total - delivered, 0) / frames_per_second


def summary(delivered: int, total: int | None, frames_per_second: float | None) -> str | None:
    """``20%, 2m37s left``; None where there is no end."""
    share = percent(delivered, total)
    if share is None:
        return None
    left = seconds_left(delivered, total, frames_per_second)
    # Not 100 before it is.
    done = f"{int(share)}%"
    return f"{done}, {duration(left)} left" if left else done


def duration(seconds: float) -> str:
    """As kubectl shows ages, in at most two units: ``45s``, ``2m37s``, ``12m``, ``3h20m``, ``5d``."""
    whole = round(seconds)
    days, hours, minutes = whole // _DAY, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d{hours}h" if hours and days < _FEW else f"{days}d"
    if hours:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if minutes:
        return f"{minutes}m{whole % 60}s" if whole % 60 and minutes < _FEW else f"{minutes}m"
    return f"{whole}s"
