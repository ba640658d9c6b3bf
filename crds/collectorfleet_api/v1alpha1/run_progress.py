"""Compute the progress and the remaining time of a run, and format them for a column. No side effects."""

from __future__ import annotations

from typing import Final

_DAY: Final = 86_400
_LONGEST: Final = 100 * 365 * _DAY  # seconds; with a rate of almost 0, the remaining time would be infinite
_FEW: Final = 10  # below this number of the larger unit, the smaller unit is shown, too


def percent(delivered: int, total: int | None) -> float | None:
    """Return the delivered percentage of the requested frames, at most 100, or None without a total."""
    if not total:
        return None
    return 100 * delivered / total if delivered < total else 100.0


def seconds_left(delivered: int, total: int | None, frames_per_second: float | None) -> float | None:
    """Return the seconds until the end at the current rate.

    Return None without a rate or a total, or if the end is more than 100 years away.
    """
    if total is None or not frames_per_second:
        return None
    left = max(total - delivered, 0)
    return left / frames_per_second if left < _LONGEST * frames_per_second else None


def summary(delivered: int, total: int | None, frames_per_second: float | None) -> str | None:
    """Return text such as ``20%, 2m37s left``, or None without a total."""
    share = percent(delivered, total)
    if share is None:
        return None
    left = seconds_left(delivered, total, frames_per_second)
    done = done_text(share)
    return f"{done}, {duration(left)} left" if left else done


def done_text(percent: float) -> str:
    """Format a percentage. It is rounded down, so that an unfinished run never shows 100%."""
    return f"{int(percent)}%"


def duration(seconds: float) -> str:
    """Format a duration as kubectl does, in at most two units: ``45s``, ``2m37s``, ``12m``, ``3h20m``, ``5d``."""
    whole = round(seconds)
    days, hours, minutes = whole // _DAY, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d{hours}h" if hours and days < _FEW else f"{days}d"
    if hours:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if minutes:
        return f"{minutes}m{whole % 60}s" if whole % 60 and minutes < _FEW else f"{minutes}m"
    return f"{whole}s"
