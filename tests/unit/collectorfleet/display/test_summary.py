"""What a person reads of a fleet on a cluster, from fleets of real runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.cluster.binaries import ROOT
from tests.unit.collectorfleet.display.reports import evaluation

from collectorfleet.display import summary
from collectorfleet.display.overview import Overview
from collectorfleet_api.v1alpha1 import CollectorFleet, ConditionStatus

FLEETS = ROOT / "tests/data/fleets"


def fleet(state: str) -> CollectorFleet:
    return CollectorFleet.parse_stored(json.loads((FLEETS / f"{state}.json").read_text())["fleet"])


def shown(state: str) -> str:
    found = fleet(state)
    created = found.metadata.creation_timestamp
    assert created
    return "\n".join(summary.lines(found, (), created + timedelta(minutes=5)))


def test_a_fleet_that_nothing_is_the_matter_with_has_no_condition_but_ready() -> None:
    assert "ready" in shown("running")
    for other in ("Stalled", "UpToDate", "Suspended", "RayClusterReady"):
        assert other not in shown("running")


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_of_a_fleet_that_is_over_ready_says_all_that_its_conditions_have_to_say(state: str) -> None:
    for other in ("RayClusterReady", "DriverRunning", "CollectorsAvailable", "Completed  "):
        assert f"\n{other} " not in shown(state)


def test_a_spec_that_waits_is_said_with_what_takes_it_up() -> None:
    assert "UpToDate" in shown("changed-held")
    assert "delete Job fleet-driver" in shown("changed-held")


def test_why_it_is_not_ready_is_said_in_the_words_of_the_condition() -> None:
    assert "10k is 10000 bytes, too little memory for a process" in shown("cannot-be-run")


def with_condition(type_: str, status: str, reason: str, message: str) -> str:
    found = fleet("running")
    assert found.status is not None
    stated = {"status": ConditionStatus(status), "reason": reason, "message": message}
    others = [one for one in found.status.conditions if one.type != type_]
    turned_at = found.status.conditions[0]
    conditions = [*others, turned_at.model_copy(update={"type": type_, **stated})]
    turned = found.model_copy(update={"status": found.status.model_copy(update={"conditions": conditions})})
    return "\n".join(" ".join(line.split()) for line in summary.lines(turned, (), datetime.now(UTC)))


def test_a_condition_that_is_not_as_it_should_be_is_followed_by_what_to_do() -> None:
    said = with_condition("RayClusterReady", "False", "EvaluatorUnschedulable", "0/1 nodes: 1 Insufficient cpu.")
    assert "1 Insufficient cpu.\nwhat to do make room for an evaluator pod, or change evaluation.resources, " in said


def test_a_fleet_that_is_not_ready_is_followed_by_what_to_do() -> None:
    said = with_condition("Ready", "False", "ImagePullBackOff", "Back-off pulling image")
    assert "ImagePullBackOff: Back-off pulling image\nwhat to do correct spec.image. If " in said


def test_the_remedy_of_a_claim_is_about_the_claim() -> None:
    said = with_condition("Ready", "False", "DriverUnschedulable", "pod has unbound immediate PersistentVolumeClaims.")
    assert "what to do create the PersistentVolumeClaim, or bind it" in said
    assert "make room" not in said


@pytest.mark.parametrize("state", ["running", "completed"])
def test_a_fleet_that_nothing_is_the_matter_with_has_nothing_to_do(state: str) -> None:
    assert "what to do" not in shown(state)


def test_a_condition_without_a_remedy_has_nothing_to_do() -> None:
    said = with_condition("RayClusterReady", "False", "WorkersStarting", "1 of 2 worker pods are ready")
    assert "WorkersStarting" in said
    assert "what to do" not in said


def test_what_to_do_for_several_conditions_is_said_once_below_the_last_of_them() -> None:
    found = fleet("suspended")
    assert found.status is not None
    assert found.status.condition("Ready") is None
    assert [one.reason for one in found.status.conditions].count("Suspended") > 2
    *_, told, remedy = (line for line in shown("suspended").splitlines()[1:] if "uspended" in line or "resume" in line)
    assert told.startswith("Suspended ")
    assert "continues from its checkpoint" in told
    assert remedy.startswith("what to do ")
    assert shown("suspended").count("what to do") == 1


def test_no_remedy_refers_to_a_condition_that_is_left_out() -> None:
    said = with_condition("CollectorsAvailable", "False", "DriverNotRunning", "driver pod cheetah-driver-x is starting")
    assert "False DriverNotRunning: driver pod cheetah-driver-x is starting" in said
    assert "what to do" not in said


@pytest.mark.parametrize(
    ("type_", "reason"), [("CollectorsJobReady", "CollectorUnschedulable"), ("Admitted", "NotQueued")]
)
def test_conditions_that_only_some_fleets_have_are_shown_with_what_to_do(type_: str, reason: str) -> None:
    said = with_condition(type_, "False", reason, "why")
    assert f"{type_} False {reason}: why\nwhat to do " in said


def test_a_fleet_that_its_queue_admitted_for_fewer_pods_says_how_to_get_all() -> None:
    said = with_condition("Admitted", "True", "AdmittedForFewer", "admitted with 1 worker pod")
    assert "Admitted True AdmittedForFewer: admitted with 1 worker pod\nwhat to do Kueue admitted fewer pods" in said
    assert "Admitted" not in with_condition("Admitted", "True", "Admitted", "admitted by ClusterQueue all")


def test_each_collector_has_a_row_with_its_pod() -> None:
    row = next(line for line in shown("changed-held").splitlines() if line.startswith("c1 "))
    assert row.split() == ["c1", "Ready", "37", "3", "300", "0", "fleet-collectors-worker-l7np5"]


def test_collectors_of_groups_have_theirs_beside_them_and_the_fleet_a_line_for_all() -> None:
    found = fleet("running")
    assert found.status is not None
    assert found.status.progress is not None
    assert found.status.progress.collectors is not None
    counts = found.status.progress.collectors.model_copy(update={"groups_summary": "fast 1/1, big 0/1"})
    rows = [one.model_copy(update={"group": "fast"}) for one in found.status.collectors]
    progress = found.status.progress.model_copy(update={"collectors": counts})
    grouped = found.status.model_copy(update={"progress": progress, "collectors": rows})
    lines = summary.lines(found.model_copy(update={"status": grouped}), (), datetime.now(UTC))
    assert "groups fast 1/1, big 0/1" in [" ".join(line.split()) for line in lines]
    assert next(line for line in lines if line.startswith("c0 ")).split()[:2] == ["c0", "fast"]


def evaluating() -> CollectorFleet:
    found = fleet("running")
    assert found.status is not None
    return found.model_copy(update={"status": found.status.model_copy(update={"evaluation": evaluation()})})


def test_a_fleet_that_evaluates_has_its_newest_result_and_another_has_no_line_for_it() -> None:
    lines = summary.lines(evaluating(), (), datetime.now(UTC))
    (line,) = (one for one in lines if one.startswith("evaluation "))
    assert line.endswith("  471.2 ±4.1 (version 120, best 480)  2 finished, 1 failed  evaluators 2/2")
    assert "evaluation" not in shown("running")


def test_the_overview_has_a_column_for_evaluations() -> None:
    shown = [(evaluating(), False), (fleet("running"), False)]
    header, first, second = Overview().lines(shown, datetime.now(UTC))
    assert header.split()[-2] == "evaluation"
    assert " 471.2 ±4.1 " in first
    assert second.split()[-2] == "-"


@pytest.mark.parametrize("path", sorted(FLEETS.glob("*.json")), ids=lambda path: path.stem)
def test_every_state_has_a_line_in_the_overview(path: str) -> None:
    found = [fleet(one.stem) for one in sorted(FLEETS.glob("*.json"))]
    assert len(Overview().lines([(one, False) for one in found], datetime.now(UTC))) == len(found) + 1


def test_a_fleet_that_nobody_looked_at_says_so() -> None:
    new = fleet("running").model_copy(update={"status": None})
    assert "the operator has not seen the fleet yet" in "\n".join(summary.lines(new, (), datetime.now(UTC)))
