"""Events as the API server has them, in the words of :mod:`collectorfleet.display.summary`."""

from __future__ import annotations

from collections.abc import Iterable

from kubernetes.client import CoreV1Event

from collectorfleet.display.summary import Happened


def happened(events: Iterable[CoreV1Event]) -> list[Happened]:
    """Time, kind, reason and message of each."""
    return [
        Happened(
            event.last_timestamp or event.event_time or event.metadata.creation_timestamp,
            event.type == "Warning",
            event.reason or "",
            event.message or "",
        )
        for event in events
    ]
