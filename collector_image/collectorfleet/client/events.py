"""Conversion of the API server's Events to the rows of :mod:`collectorfleet.display.summary`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kubernetes.client import CoreV1Event

from collectorfleet.display.summary import EventRow


def event_rows(events: Iterable[CoreV1Event]) -> list[EventRow]:
    """Return the time, kind, reason and message of each Event."""
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
    """Return the time of the Event's last occurrence."""
    newest: datetime | None = event.last_timestamp or event.event_time or event.metadata.creation_timestamp
    return newest
