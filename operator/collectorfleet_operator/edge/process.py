"""The settings and objects that live as long as the operator's process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import aiohttp

from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.event_writer import EventWriter
from collectorfleet_operator.edge.freshness import Freshness
from collectorfleet_operator.edge.health import Health
from collectorfleet_operator.edge.metrics.instruments import Instruments
from collectorfleet_operator.edge.served_kueue import ServedKueue
from collectorfleet_operator.edge.settings import Settings


@dataclass(frozen=True)
class Process:
    """The settings and objects that every session uses.

    ``trace`` is called with every request to the API server. ``now`` returns the API server's time. ``stop`` is set
    when the process must end.
    """

    settings: Settings
    kube: Kube
    trace: aiohttp.TraceConfig
    health: Health
    freshness: Freshness
    instruments: Instruments
    stop: asyncio.Event
    now: Callable[[], datetime]

    @cached_property
    def events(self) -> EventWriter:
        return EventWriter(self.kube, self.now)

    @cached_property
    def kueue(self) -> ServedKueue:
        return ServedKueue(self.kube, is_used=self.settings.queues)


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set ``stop`` at SIGTERM or SIGINT. Each session calls this again, because kopf installs its own handlers."""
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, stop.set)
