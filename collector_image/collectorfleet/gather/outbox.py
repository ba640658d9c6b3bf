"""What the gather thread tells collectors, said once it has let go of the lock.

A transport may take its time over any of it: a head that is away blocks for as long as it is. Nobody who asks for the
status, publishes or ends the run waits for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from collectorfleet.messages import CollectorId, Request, Weights
from collectorfleet.transport.interface import Transport


class Outbox:
    """Keeps what is to be said, in its order, until :meth:`say`. For the gather thread alone."""

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

    def say(self) -> None:
        """Tell all of it. The caller does not hold the lock."""
        calls, self._calls = self._calls, []
        for call, arguments in calls:
            call(*arguments)
