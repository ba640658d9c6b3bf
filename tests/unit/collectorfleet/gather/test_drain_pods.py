"""Pods that are to be replaced: their collectors leave at the end of what they do, and come back when they are gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.fleet.report import report
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


@pytest.fixture
def fleet() -> Played:
    """Two collectors that are available, each in a pod of its own, in an Async fleet that is asked for batches."""
    plan = Plan(1, FRAMES, in_order=False, bound=None, total_frames=None)
    played = Played(plan, 2, limits=Limits(DAY, DAY, SECOND, 1))
    played.consumer.stage("weights")
    join(played)
    return played


def join(fleet: Played) -> None:
    """Everybody who starts gets built and loads."""
    fleet.turn()
    for remote in list(fleet.world.alive.values()):
        if not remote.built:
            fleet.world.build(remote)
    fleet.turn()
    for remote in fleet.world.alive.values():
        if remote.offered > remote.acknowledged:
            fleet.world.load(remote)
    fleet.turn()


def names(fleet: Played) -> list[str]:
    return sorted(one.id.name for one in fleet.gather.collectors)


def ask(fleet: Played) -> None:
    with fleet.shared.changed:
        fleet.consumer.request_batch()
    fleet.turn()


def test_a_collector_finishes_what_it_has_and_is_no_loss(fleet: Played) -> None:
    ask(fleet)
    leaving = fleet.remote("c0")
    assert leaving.requests
    fleet.consumer.drain_pods({"pod-c0"})
    fleet.turn()
    assert names(fleet) == ["c0", "c1"]
    while leaving.requests:
        fleet.world.answer(leaving)
        fleet.turn()
    fleet.turn()
    assert names(fleet) == ["c1"]
    assert leaving.id in fleet.world.stopped
    assert list(fleet.shared.drained_pods) == ["pod-c0"]
    slot = fleet.shared.slots.by_name["c0"]
    assert (slot.restarts, slot.charges, fleet.shared.slots.restarts) == (0, [], 0)


def test_it_comes_back_once_its_pod_is_named_no_more(fleet: Played) -> None:
    fleet.consumer.drain_pods({"pod-c0"})
    fleet.turn(seconds=100)
    assert names(fleet) == ["c1"]
    fleet.consumer.drain_pods([])
    join(fleet)
    assert names(fleet) == ["c0", "c1"]
    assert fleet.shared.slots.restarts == 0
    assert fleet.gather.collectors.available == 2


def test_one_that_starts_on_such_a_pod_leaves_it_again(fleet: Played) -> None:
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    fleet.consumer.drain_pods({"pod-c0"})
    fleet.turn(seconds=100)
    fleet.world.build(fleet.remote("c0"))
    fleet.turn()
    fleet.turn()
    assert names(fleet) == ["c1"]
    assert list(fleet.shared.drained_pods) == ["pod-c0"]


def test_who_waits_for_a_pod_is_not_missed(fleet: Played) -> None:
    fleet.consumer.drain_pods({"pod-c0", "pod-c1"})
    fleet.turn()
    fleet.turn()
    assert names(fleet) == []
    fleet.turn(seconds=3600)
    assert fleet.shared.error is None
    fleet.consumer.drain_pods([])
    fleet.turn()
    fleet.turn(seconds=3600)
    fleet.turn(seconds=3600)
    assert fleet.shared.error is not None


def test_a_fleet_that_shrinks_meanwhile_forgets_who_waits(fleet: Played) -> None:
    fleet.consumer.drain_pods({"pod-c1"})
    fleet.turn()
    fleet.consumer.resize(1)
    fleet.turn()
    assert sorted(fleet.shared.slots.by_name) == ["c0"]
    assert not fleet.shared.slots.waiting
    fleet.consumer.drain_pods([])
    fleet.turn()
    assert names(fleet) == ["c0"]


def test_a_pod_that_nobody_is_on_is_empty_once_nobody_is_on_the_way(fleet: Played) -> None:
    """It never held a collector, or its collectors were lost: nobody leaves it."""
    fleet.world.die(fleet.remote("c0"))
    fleet.turn()
    fleet.consumer.drain_pods({"pod-c0", "pod-c9"})
    fleet.turn()
    fleet.turn(seconds=100)
    assert [one.pod for one in fleet.gather.collectors if one.id.name == "c0"] == [None]
    assert not fleet.shared.drained_pods
    fleet.world.build(fleet.remote("c0"), pod="pod-c1")
    fleet.turn()
    fleet.turn()
    assert list(fleet.shared.drained_pods) == ["pod-c0", "pod-c9"]
    assert names(fleet) == ["c0", "c1"]


def test_the_report_names_a_pod_that_drains_after_months_of_replaced_pods(fleet: Played) -> None:
    for number in range(1500):
        pod = f"pod-{number:04d}"
        fleet.consumer.drain_pods({pod})
        fleet.turn()
        assert pod in report(fleet.shared, 0.0, "World").drained_pods
    assert len(fleet.shared.drained_pods) == 1000


def test_pods_that_drain_are_reported_before_pods_that_drained_earlier(fleet: Played) -> None:
    fleet.consumer.drain_pods({f"pod-{number:04d}" for number in range(1100)})
    fleet.turn()
    assert len(fleet.shared.drained_pods) == 1100
    draining = {f"pod-{number:04d}" for number in range(1000, 1100)}
    fleet.consumer.drain_pods(draining)
    fleet.turn()
    reported = report(fleet.shared, 0.0, "World").drained_pods
    assert len(reported) == 1000
    assert draining <= set(reported)


def test_a_pod_that_drains_again_is_kept_as_the_newest_pod(fleet: Played) -> None:
    for number in range(1000):
        fleet.shared.note_drained(f"pod-{number:04d}")
    fleet.shared.note_drained("pod-0000")
    fleet.shared.note_drained("pod-1000")
    assert list(fleet.shared.drained_pods)[-2:] == ["pod-0000", "pod-1000"]
    assert len(fleet.shared.drained_pods) == 1000
    assert "pod-0001" not in fleet.shared.drained_pods
