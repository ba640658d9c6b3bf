"""Each frame says the version that acted, and no batch is older than the bound, whatever happens in whatever order.

``--hypothesis-profile=thorough`` tries 1,000 orders of each kind.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule
from tests.contract.in_process import InProcess
from tests.example_count import examples
from tests.in_process_fleet import fleet, living
from tests.version_orders import Orders

from collectorfleet import FleetCollector

# An example takes some 0.2 s.
EXAMPLES = examples(10)


class OrdersInThreads(Orders):
    """Collectors are threads of this process, which can lose single answers, too."""

    def made(self, *arguments: Any, **options: Any) -> AbstractContextManager[FleetCollector]:
        return fleet(*arguments, **options)

    def kill(self, name: str) -> None:
        there = living(self.collector)
        if name in there:
            with contextlib.suppress(KeyError):  # the gather thread has ended it just now
                self._transport.kill(there[name])

    @rule(which=st.integers(0, 5))
    def an_answer_is_lost(self, which: int) -> None:
        with self.shared.changed:
            under_way = sorted(n for one in self.shared.gather.collectors for n in one.in_flight)
        if under_way:
            self._transport.lose(under_way[which % len(under_way)])

    @property
    def _transport(self) -> InProcess:
        transport = self.collector._transport
        assert isinstance(transport, InProcess)
        return transport


class OrdersInSync(OrdersInThreads):
    sync, bounds = True, st.integers(0, 2)


class OrdersInAsync(OrdersInThreads):
    sync, bounds = False, st.none() | st.integers(1, 3)


TestSync, TestAsync = OrdersInSync.TestCase, OrdersInAsync.TestCase
TestSync.settings = TestAsync.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=20, suppress_health_check=[HealthCheck.too_slow]
)
