"""Warning Events about a fleet's children that explain why nothing moves. Pure.

Many warnings belong to every start (a Secret that is made a second later): one about a pod counts only once it went on
for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from collectorfleet_operator.decide.observed import Warned
from collectorfleet_operator.objects import Object

GOES_ON_FOR: Final = timedelta(seconds=10)
# The kubelet repeats what it cannot do at most this far apart.
STILL_TRUE_FOR: Final = timedelta(minutes=3)

_READ: Final = ("reason", "message", "firstTimestamp", "lastTimestamp", "eventTime")


def known(event: Object) -> Object:
    """Of an event what is read here: there may be thousands in a namespace."""
    about, series = event["involvedObject"], event.get("series") or {}
    return {
        "involvedObject": {field: about.get(field) for field in ("kind", "uid")},
        "series": {"lastObservedTime": series.get("lastObservedTime")},
        **{field: event.get(field) for field in _READ},
    }


def relevant(events: Iterable[Object], now: datetime) -> list[Warned]:
    """Those that still hold, the newest first."""
    found = [(last, event) for event in events if (last := _last(event)) is not None and _holds(event, last, now)]
    found.sort(key=lambda one: one[0], reverse=True)
    return [
        Warned(event["involvedObject"]["uid"], event.get("reason") or "Warning", event.get("message") or "")
        for _, event in found
    ]


def _holds(event: Object, last: datetime, now: datetime) -> bool:
    if now - last > STILL_TRUE_FOR:
        return False
    first = _time(event.get("firstTimestamp")) or last
    return event["involvedObject"].get("kind") != "Pod" or last - first >= GOES_ON_FOR


def _last(event: Object) -> datetime | None:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((time for time in map(_time, times) if time), None)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
