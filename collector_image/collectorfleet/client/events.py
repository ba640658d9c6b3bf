"""Events as the API server has them, in the words of :mod:`collectorfleet.display.summary`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kubernetes.client import CoreV1Event

from collectorfleet.display.summary import EventRow


def happened(events: Iterable[CoreV1Event]) -> list[EventRow]:
    """Time, kind, reason and message of each."""
    return [
        EventRow(
            time_of(event),
            event.type == "Warning",
            event.reason or "",
            event.message or "",
        )
        for event in events
    ]


def time_of(event: CoreV1Event) -> datetime | None:
    """Return when it happened last."""
    newest: datetime | None = event.last_timestamp or event.event_time or event.metadata.creation_timestamp
    return newest
