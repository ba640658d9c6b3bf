"""Reads times of Kubernetes objects and durations of specs. No side effects.

The API server stores implausible times, such as a Lease that was renewed in year 0, or a condition with the time zone
+99:99. A reader that raises an error would stop at such an object.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

# A time outside of these years is a mistake. For a time within these years, adding or subtracting up to
# ``LONGEST_SECONDS`` stays within Python's range.
EARLIEST_YEAR: Final = 1970
LATEST_YEAR: Final = 2999
# 100 years. A user who means "never" may write a longer duration.
LONGEST_SECONDS: Final = 3_153_600_000


def parse_time(value: Any) -> datetime | None:
    """Return the time of an RFC 3339 text with a time zone, or None for any other value. Never raises."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo is not None and is_plausible(found) else None


def is_plausible(time: datetime) -> bool:
    """Return whether the year is between ``EARLIEST_YEAR`` and ``LATEST_YEAR``."""
    return EARLIEST_YEAR <= time.year <= LATEST_YEAR


def duration(seconds: int) -> timedelta:
    """Return a duration, but at most ``LONGEST_SECONDS``: a stored object may have a longer one. Never raises."""
    return timedelta(seconds=min(seconds, LONGEST_SECONDS))
