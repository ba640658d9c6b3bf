"""What collectors are asked beside rollouts, while one of them is not there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from tests import envs
from tests.in_process_fleet import fleet
from tests.wait import eventually

from collectorfleet import FleetCollector
from collectorfleet.fleet import inquiry
from collectorfleet.fleet.inquiry import Inquiry
from collectorfleet.messages import CollectorId, Returned
from collectorfleet_api.v1alpha1 import CollectorState

IDS = {"c0": CollectorId("c0", 1), "c1": CollectorId("c1", 2)}


class Gate:
    """Who builds an environment waits for it; a copy is the same gate."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def __deepcopy__(self, _: object) -> Gate:
        return self


def make_late(gate: Gate) -> envs.Counting:
    assert gate.opened.wait(60)
    return envs.Counting()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


def has_built(collector: FleetCollector) -> set[str]:
    with collector._consumer.shared.changed:
        living = collector._consumer.shared.gather.collectors
        return {one.id.name for one in living if one.state is not CollectorState.STARTING}


@pytest.fixture
def collector(gate: Gate) -> Iterator[FleetCollector]:
    """Its second collector is not built before the gate is opened."""
    create = [envs.make_counting, partial(make_late, gate)]
    with fleet(create, envs.make_policy(), num_collectors=2, frames_per_batch=20, sync=False) as made:
        try:
            eventually(lambda: "c0" in has_built(made), within=60)
            yield made
        finally:
            gate.opened.set()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda c: c.get_distant_attr("frames_per_batch", timeout=0.2), id="get_distant_attr"),
        pytest.param(lambda c: c.map_fn("reset", timeout=0.2), id="map_fn"),
        pytest.param(lambda c: c.set_seed(1, timeout=0.2), id="set_seed"),
    ],
)
def test_the_collector_that_is_not_there_is_named(collector: FleetCollector, gate: Gate, ask: Any) -> None:
    with pytest.raises(TimeoutError, match=r": not all .* after 0\.2 s: 1 of 2 collectors is missing: c1 ") as raised:
        ask(collector)
    assert "c0" not in str(raised.value)
    gate.opened.set()
    assert collector.get_distant_attr("frames_per_batch") == [20, 20]


def test_collectors_have_a_time_of_their_own_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    now, given = [0.0], []

    def wait_built(_: object, timeout: float) -> dict[str, CollectorId]:
        now[0] += 0.99 * timeout
        return IDS

    def answer(_: object, timeout: float) -> Returned:
        given.append(timeout)
        now[0] += 1.0
        return Returned(1)

    monkeypatch.setattr(inquiry, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(inquiry, "wait_built", wait_built)
    consumer: Any = SimpleNamespace(shared=None)
    transport: Any = SimpleNamespace(ask=lambda *_: object(), answer=answer)
    asked = Inquiry(consumer, transport, "map_fn('reset')", timeout=10)
    assert asked.names() == ["c0", "c1"]
    monkeypatch.setattr(inquiry, "wait_built", lambda *_: IDS)
    assert asked.call_all("execute") == {"c0": 1, "c1": 1}
    assert given == pytest.approx([10.0, 9.0])
