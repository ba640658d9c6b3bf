"""The orders of ``tests/version_orders.py`` over each transport: collectors are processes, and losses are real."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.example_count import examples
from tests.version_orders import Orders

from collectorfleet import FleetCollector

# With the Ray that FleetCollector starts on two cores, the third collector would have no CPU.
pytestmark = pytest.mark.usefixtures("local_ray")

MODES: dict[bool, st.SearchStrategy[int | None]] = {True: st.integers(0, 2), False: st.none() | st.integers(1, 3)}
# An example spends most of its time on the start of processes. So Hypothesis searches for no smaller failing example.
SETTINGS = settings(
    max_examples=examples(3),
    stateful_step_count=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@contextlib.contextmanager
def fleet(*arguments: Any, **options: Any) -> Iterator[FleetCollector]:
    collector = FleetCollector(*arguments, **options)
    try:
        yield collector
    finally:
        collector.shutdown(timeout=20)


class OrdersInProcesses(Orders):
    transport: str
    within_seconds = 240.0  # a busy machine needs half a minute to start a process

    def made(self, *arguments: Any, **options: Any) -> AbstractContextManager[FleetCollector]:
        return fleet(*arguments, transport=self.transport, **options)

    def kill(self, name: str) -> None:
        with self.shared.changed:
            pids = {one.id.name: one.pid for one in self.shared.gather.collectors}
        if pids.get(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pids[name] or 0), signal.SIGKILL)


@pytest.mark.parametrize(
    ("carrier", "sync"),
    [
        pytest.param("torch_distributed", True, id="process group, Sync"),
        pytest.param("torch_distributed", False, id="process group, Async"),
        pytest.param("rpc", True, id="RPC, Sync"),
        pytest.param("rpc", False, id="RPC, Async"),
        pytest.param("object_store", True, id="Ray, Sync"),
    ],
)
def test_frames_have_the_version_that_acted_and_no_batch_exceeds_the_bound(carrier: str, sync: bool) -> None:
    machine = type("Machine", (OrdersInProcesses,), {"transport": carrier, "sync": sync, "bounds": MODES[sync]})
    run_state_machine_as_test(machine, settings=SETTINGS)
