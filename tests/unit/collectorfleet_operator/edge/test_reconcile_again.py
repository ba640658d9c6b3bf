"""The time after which a fleet is reconciled again if nothing happens before."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.edge.reconciled_fleet import AT_ONCE, ReconciledFleet
from tests.unit.collectorfleet_operator.world import COLLECTORS, DRIVER, KEY, World, running

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.decide.plan import plan
from collectorfleet_operator.edge import reconcile
from collectorfleet_operator.edge.cache import Cache
from collectorfleet_operator.objects import Key, Kind, Object


def test_a_fleet_at_rest_is_read_once_and_looked_at_again_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = ReconciledFleet(running())
    fleet.reconcile()
    plans, read = [], Counter[tuple[Kind, Key]]()

    def counted(kind: Kind, key: Key) -> Object | None:
        read[kind, key] += 1
        return Cache.get(fleet.world.cache, kind, key)

    monkeypatch.setattr(fleet.world.cache, "get", counted)
    monkeypatch.setattr(reconcile, "plan", lambda seen: plans.append(plan(seen)) or plans[-1])
    told = fleet.kube.events[:]
    assert fleet.reconcile() <= timedelta(minutes=20)
    assert fleet.kube.events == told
    assert len(plans) == 1
    # Each read decodes the object.
    assert (read[FLEET, KEY], read[JOB, DRIVER]) == (1, 1)


@pytest.mark.parametrize(("meanwhile", "at_once"), [({}, False), ({"failed": 1}, True)], ids=["nothing", "a failure"])
def test_what_somebody_else_wrote_before_an_update_is_looked_at_at_once(meanwhile: Object, at_once: bool) -> None:
    fleet = ReconciledFleet(World(WITHOUT_RAY))
    fleet.reconcile_until_rest()
    fleet.world.edit({**WITHOUT_RAY, "spec.collectors.replicas": 9})
    fleet.kube.meanwhile = meanwhile
    assert (fleet.reconcile() == AT_ONCE) is at_once
    assert fleet.world.get(JOB, COLLECTORS)["status"] == meanwhile


def test_a_driver_whose_deadline_is_over_is_deleted_as_soon_as_the_status_says_so() -> None:
    # The cluster is kept, so the status is the only change.
    fleet = ReconciledFleet(running({"spec.activeDeadlineSeconds": 60, "spec.whenFinished": "Keep"}))
    fleet.reconcile_until_rest()
    fleet.wait(61)
    assert fleet.reconcile() == AT_ONCE
    assert fleet.world.cache.get(JOB, DRIVER) is not None
    assert fleet.reconcile() > AT_ONCE
    assert fleet.world.cache.get(JOB, DRIVER) is None


def test_a_deadline_that_an_edit_leaves_over_is_carried_out_for_the_edit() -> None:
    edited = {"spec.activeDeadlineSeconds": 60, "spec.whenFinished": "Keep"}
    fleet = ReconciledFleet(running(edited))
    fleet.reconcile_until_rest()
    fleet.wait(61)
    fleet.reconcile()
    fleet.world.edit({**edited, "spec.activeDeadlineSeconds": 50})
    assert fleet.reconcile() == AT_ONCE
    fleet.reconcile()
    assert fleet.world.cache.get(JOB, DRIVER) is None


def test_an_idle_driver_is_asked_to_end_and_ended_where_it_does_not() -> None:
    fleet = ReconciledFleet(running({"spec.idleTimeoutSeconds": 60, "spec.progressDeadlineSeconds": 90}))
    fleet.reconcile_until_rest()
    fleet.wait(61)
    assert fleet.reconcile() == AT_ONCE
    # No event shows that a driver is late.
    assert fleet.reconcile() == timedelta(seconds=90)
    fleet.wait(90)
    fleet.reconcile()
    assert fleet.world.cache.get(JOB, DRIVER) is None


def test_what_is_left_of_a_run_without_a_time_to_live_goes_as_soon_as_it_is_over() -> None:
    fleet = ReconciledFleet(running({"spec.ttlSecondsAfterFinished": 0}))
    fleet.reconcile_until_rest()
    fleet.world.complete()
    assert fleet.reconcile() == AT_ONCE
    assert fleet.reconcile() > AT_ONCE
    assert fleet.world.cache.get(JOB, DRIVER) is None


def test_a_driver_that_was_asked_to_end_is_looked_at_when_it_is_late() -> None:
    changes = {"spec.progressDeadlineSeconds": 90}
    fleet = ReconciledFleet(running(changes))
    fleet.reconcile_until_rest()
    fleet.world.edit({**changes, "spec.suspend": True})
    assert fleet.reconcile() == AT_ONCE
    assert fleet.reconcile() == timedelta(seconds=90)


def test_a_status_that_says_nothing_to_do_is_no_reason_to_look_again() -> None:
    fleet = ReconciledFleet(running())
    fleet.reconcile_until_rest()
    fleet.world.report(3)
    assert fleet.reconcile() > AT_ONCE
