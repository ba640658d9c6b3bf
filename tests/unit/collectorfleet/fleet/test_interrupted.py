"""Ctrl-C while a fleet is iterated over, as in a notebook: what was asked for comes with the next batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from tests import envs
from tests.in_process_fleet import fleet
from tests.wait import eventually

from collectorfleet import FleetCollector
from collectorfleet.fleet.assemble import Assembler

VERSION = ("collector", "weights_version")
Next = Callable[[FleetCollector], Any]


@pytest.fixture
def collector() -> Iterator[FleetCollector]:
    """On-policy."""
    with fleet(
        envs.make_counting, envs.make_policy(), num_collectors=2, frames_per_batch=20, sync=True, total_frames=100
    ) as made:
        yield made


def interrupt(collector: FleetCollector, owner: object, method: str, ask: Callable[[], object]) -> None:
    def raises(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, raises)
        with pytest.raises(KeyboardInterrupt):
            ask()
    gather = collector._consumer.shared.gather
    # It takes longer to come back than a rollout takes.
    eventually(lambda: not gather.collectors.busy, within=20, every=0.005)


def by_one_iterator(collector: FleetCollector) -> Callable[[], Any]:
    batches = iter(collector)
    return lambda: next(batches)


def by_another_iterator(collector: FleetCollector) -> Callable[[], Any]:
    return lambda: next(iter(collector))


def by_torchrls_next(collector: FleetCollector) -> Callable[[], Any]:
    return collector.next


@pytest.mark.parametrize("asks", [by_one_iterator, by_another_iterator, by_torchrls_next])
def test_after_an_interrupted_wait_every_batch_is_of_the_newest_weights(
    collector: FleetCollector, asks: Callable[[FleetCollector], Callable[[], Any]]
) -> None:
    ask, shared = asks(collector), collector._consumer.shared
    interrupt(collector, shared, "wait_for", ask)
    for _ in range(5):
        batch = ask()
        assert set(batch[VERSION].flatten().tolist()) == {shared.gather.version}
        eventually(lambda: not shared.gather.collectors.busy, within=20, every=0.005)
        collector.update_policy_weights_(wait=True)
    weights = collector.status().weights
    assert weights is not None
    assert (weights.published, weights.staleness and weights.staleness.max) == (6, 0)


def test_a_batch_whose_assembly_is_interrupted_is_not_lost(collector: FleetCollector) -> None:
    ask = by_one_iterator(collector)
    interrupt(collector, Assembler, "batch", ask)
    counts = [ask().numel() for _ in range(5)]
    assert sum(counts) == 100
    with pytest.raises(StopIteration):
        ask()


def test_an_interrupted_pause_pauses_nothing(collector: FleetCollector) -> None:
    ask = by_one_iterator(collector)
    ask()
    interrupt(collector, collector._consumer.shared, "wait_for", lambda: collector.pause().__enter__())
    assert ask().numel() == 20
