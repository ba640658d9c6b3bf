"""Reconciles that fail in the operator itself or on an object that cannot be read."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.edge.reconciled_fleet import ReconciledFleet
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, World, running

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.edge import reconcile
from collectorfleet_operator.edge.errors import RefusedError
from collectorfleet_operator.edge.observe import UnreadableError
from collectorfleet_operator.objects import UNREADABLE, Object


def test_an_error_of_the_operator_is_in_the_status_after_three_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = ReconciledFleet(running())
    fleet.reconcile()
    before = fleet.status

    def fails(_seen: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(reconcile, "plan", fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such thing"):
            fleet.reconcile()
    assert fleet.status == before
    with pytest.raises(ValueError, match="no such thing"):
        fleet.reconcile()
    after = fleet.status
    assert (
        fleet.message("Ready")
        == "the operator failed to reconcile this fleet and tries again: ValueError: no such thing"
    )
    assert (fleet.reasons()["Ready"], fleet.reasons()["Stalled"]) == ("InternalError", "Progressing")
    assert after["phase"] == "Degraded"
    # No other field changes.
    assert {**after, "phase": before["phase"], "conditions": before["conditions"]} == before
    assert {one["type"] for one in after["conditions"]} == {one["type"] for one in before["conditions"]}
    monkeypatch.undo()
    fleet.reconcile()
    assert fleet.reasons()["Ready"] == "Collecting"


def test_a_run_that_is_over_stays_as_it_ended_where_the_operator_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = ReconciledFleet(running())
    fleet.world.complete()
    fleet.reconcile()
    before = fleet.status
    assert before["phase"] == "Completed"
    monkeypatch.setattr(reconcile, "plan", None)
    for _ in range(4):
        with pytest.raises(TypeError):
            fleet.reconcile()
    assert fleet.status == before


def test_a_pod_that_cannot_be_read_is_named_in_the_status_of_its_fleet() -> None:
    fleet = ReconciledFleet(running())
    [pod] = fleet.world.pods("head")
    fleet.world.store({**pod, "status": {"conditions": 3}, UNREADABLE: "status.x: too deep"})
    for _ in range(3):
        with pytest.raises(UnreadableError):
            fleet.reconcile()
    assert "status.x: too deep" in fleet.message("Ready")


def test_a_fleet_that_cannot_be_read_and_has_no_driver_keeps_no_cluster() -> None:
    fleet = ReconciledFleet(running())
    fleet.world.collect(fleet.world.get(JOB, DRIVER), *fleet.world.pods("driver"))
    fleet.world.store({**fleet.world.get(FLEET), UNREADABLE: "spec.environment.kwargs.a: nested too deeply"})
    fleet.reconcile()
    assert fleet.world.cache.get(RAYCLUSTER, KEY) is None
    assert fleet.reasons()["Stalled"] == "InvalidSpec"


def test_a_status_that_is_refused_is_told_as_an_event() -> None:
    fleet = ReconciledFleet(World())

    async def refuse(_stored: Object, _status: Object) -> Object:
        raise RefusedError("apply status", "too large")

    fleet.kube.apply_status = refuse  # type: ignore[method-assign]
    fleet.world.store({**fleet.world.get(FLEET), UNREADABLE: "spec.environment.kwargs.a: nested too deeply"})
    with pytest.raises(RefusedError):
        fleet.reconcile()
    assert fleet.kube.events == ["Refused the"]
