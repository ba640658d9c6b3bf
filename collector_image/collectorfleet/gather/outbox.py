"""Calls of transport methods, which the gather thread makes after it has released the lock.

A call of a transport method may block, for example while Ray's head is unreachable. Other threads need the lock to read
the status, to publish or to end the run. These threads do not wait for the call, because the gather thread does not
hold the lock during the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from collectorfleet.messages import CollectorId, Request, Weights
from collectorfleet.transport.interface import Transport


class Outbox:
    """Queues calls until :meth:`flush` makes them in order. Only one thread may use an outbox."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._calls: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def start(self, collector: CollectorId) -> None:
        self._calls.append((self._transport.start, (collector,)))

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        self._calls.append((self._transport.offer, (collector, weights)))

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None) -> None:
        self._calls.append((self._transport.submit, (collector, request, weights)))

    def cut_short(self, collector: CollectorId, request_id: int) -> None:
        self._calls.append((self._transport.cut_short, (collector, request_id)))

    def stop(self, collector: CollectorId) -> None:
        self._calls.append((self._transport.stop, (collector,)))

    def flush(self) -> None:
        """Make all queued calls. The caller must not hold the lock."""
        calls, self._calls = self._calls, []
        for call, arguments in calls:
            call(*arguments)
