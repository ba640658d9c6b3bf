"""Reconciles while the API server leaves a write or an Event without an answer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.edge.reconciled_fleet import ReconciledFleet
from tests.unit.collectorfleet_operator.world import COLLECTORS, DRIVER, World, running

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.edge.errors import UnavailableError
from collectorfleet_operator.edge.event_writer import PAUSE_SECONDS
from collectorfleet_operator.objects import Kind, Object


@pytest.mark.parametrize("away", ["Role", JOB.kind, "status"])
def test_what_was_done_before_the_api_server_went_away_is_told_when_it_is_back(away: str) -> None:
    fleet = ReconciledFleet(World())
    fleet.kube.silent = [away]
    with pytest.raises(UnavailableError):
        fleet.reconcile()
    fleet.reconcile()
    assert sorted(fleet.kube.events) == ["Created Job", "Created RayCluster"]
    fleet.reconcile()
    assert sorted(fleet.kube.events) == ["Created Job", "Created RayCluster"]


def test_a_fleet_has_its_status_while_events_are_not_taken_and_they_are_told_when_they_are() -> None:
    fleet = ReconciledFleet(World())
    fleet.kube.takes_no_events = True
    # No event shows that the API server accepts Events again.
    assert fleet.reconcile() <= timedelta(minutes=1)
    assert fleet.status["conditions"]
    fleet.kube.takes_no_events = False
    fleet.world.seconds = PAUSE_SECONDS
    fleet.reconcile()
    assert sorted(fleet.kube.events) == ["Created Job", "Created RayCluster"]


def test_what_ends_a_driver_is_carried_out_while_events_are_not_taken() -> None:
    fleet = ReconciledFleet(running({"spec.activeDeadlineSeconds": 60, "spec.whenFinished": "Keep"}))
    fleet.kube.takes_no_events = True
    fleet.wait(61)
    fleet.reconcile()
    fleet.reconcile()
    assert fleet.world.cache.get(JOB, DRIVER) is None
    fleet.kube.takes_no_events = False
    fleet.wait(PAUSE_SECONDS)
    fleet.reconcile()
    assert [one for one in fleet.kube.events if one.startswith("DeadlineExceeded")]


def test_an_event_is_told_before_the_status_says_the_same() -> None:
    fleet = ReconciledFleet(running())
    fleet.kube.silent = ["status"]
    with pytest.raises(UnavailableError):
        fleet.reconcile()
    assert "CollectorsAvailable 4" in fleet.kube.events


@pytest.mark.parametrize("away", ["Secret", "Service"])
def test_without_an_answer_no_pods_are_made_that_would_wait_for_what_is_missing(away: str) -> None:
    fleet = ReconciledFleet(World(WITHOUT_RAY))
    fleet.kube.silent = [away]
    with pytest.raises(UnavailableError):
        fleet.reconcile()
    assert fleet.world.cache.get(JOB, COLLECTORS) is None
    fleet.reconcile()
    assert fleet.world.get(JOB, COLLECTORS)


@pytest.mark.parametrize(("away", "told"), [("RayCluster", "RayClusterReady"), ("Job", "DriverRunning")])
def test_the_status_says_which_write_fails_while_it_is_tried_again(away: str, told: str) -> None:
    fleet = ReconciledFleet(World())
    fleet.kube.silent = [away]
    with pytest.raises(UnavailableError):
        fleet.reconcile()
    assert fleet.reasons()[told] == "WriteFailed"
    assert fleet.message(told) == f"write {away}: no answer"
    # Tools give up on a stalled fleet, so this fleet is not stalled.
    assert (fleet.reasons()["Ready"], fleet.reasons()["Stalled"]) == ("WriteFailed", "Progressing")
    assert fleet.reasons()["Reconciling"] == "WriteFailed"
    fleet.reconcile()
    assert "WriteFailed" not in fleet.reasons().values()


def test_a_fleet_that_runs_stays_ready_while_a_write_fails() -> None:
    fleet = ReconciledFleet(running())
    fleet.reconcile()
    fleet.world.store({**fleet.world.get(ROLE, DRIVER), "rules": []})
    fleet.kube.silent = ["Role"]
    with pytest.raises(UnavailableError):
        fleet.reconcile()
    assert (fleet.reasons()["Ready"], fleet.reasons()["Reconciling"]) == ("Collecting", "WriteFailed")
    assert fleet.reasons()["Stalled"] == "Progressing"


def test_a_write_without_an_answer_asks_about_webhooks() -> None:
    fleet = ReconciledFleet(World())

    async def hang(_kind: Kind, _manifest: Object) -> Object:
        raise UnavailableError("apply RayCluster", "no answer within 10 s") from TimeoutError()

    fleet.kube.apply_new = hang  # type: ignore[method-assign]
    with pytest.raises(UnavailableError):
        fleet.reconcile()
    assert "check the webhooks for " in fleet.message("Ready")
