"""Times as Kubernetes objects hold them. Pure.

Whoever may write an object may write odd texts into its times. The API server stores a Lease that was renewed in year
0, and a condition with the time zone +99:99. A reader that raises on such a text stops at that object.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

# A time outside of these years is a mistake. Adding or subtracting any duration of a spec stays within Python's range.
EARLIEST_YEAR: Final = 1970
LATEST_YEAR: Final = 2999


def parse_time(value: Any) -> datetime | None:
    """Return the time that an RFC 3339 text says, with its zone; None for anything else. Raises nothing."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo is not None and is_plausible(found) else None


def is_plausible(time: datetime) -> bool:
    """Return whether the year is one in which this software can run."""
    return EARLIEST_YEAR <= time.year <= LATEST_YEAR
