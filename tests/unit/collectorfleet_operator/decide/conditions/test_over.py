"""What is said of a fleet whose run is over."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, NOON, later, running, told

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.error_status import invalid


def test_the_end_is_told_before_the_job_says_so() -> None:
    world = running()
    world.end_driver(0)
    assert told(world.look(), "Ready")[:2] == ("True", "Completed")
    world = running()
    world.end_driver(64, "no such game")
    assert told(world.look(), "Stalled")[:2] == ("True", "Failed")
    assert told(world.look(), "DriverRunning")[2].startswith("no such game; ")


def test_completed_is_ready_for_good() -> None:
    world = running()
    world.end_driver(0)
    world.end_job("Complete", completionTime="2026-07-01T12:00:00Z")
    world.carry_out()
    seen = world.look()
    assert told(seen, "Ready")[:2] == ("True", "Completed")
    assert told(seen, "Completed")[:2] == ("True", "Completed")
    assert "after 12000 frames in 3 batches" in told(seen, "Completed")[2]
    assert told(seen, "Reconciling")[0] == told(seen, "Stalled")[0] == "False"
    assert seen.phase is Phase.COMPLETED
    assert seen.replicas == 0
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    after = world.look(later(60))
    assert after.model_copy(update={"conditions": seen.conditions}) == seen
    assert [told(after, one.type)[:2] for one in after.conditions] == [
        told(seen, one.type)[:2] for one in seen.conditions
    ]


def test_what_is_completed_stays_so_when_its_spec_cannot_be_read_and_its_job_is_tidied_up() -> None:
    world = running()
    world.complete()
    before = world.look()
    found = invalid(["spec.collection: 7 is no mapping"], world.seen().fleet.status, 2, NOON)
    assert told(found, "UpToDate")[:2] == ("False", "InvalidSpec")
    for type_ in ("Ready", "Completed", "Stalled"):
        assert told(found, type_) == told(before, type_)
    assert (found.phase, found.driver, found.observed_generation) == (before.phase, before.driver, 2)


def test_failed_says_the_first_cause_and_what_is_kept() -> None:
    world = running()
    cause = "environment my_envs:make (collector c0): ValueError: no such game"
    world.end_driver(64, f"{cause}\nTraceback (most recent call last):\n  ...")
    world.end_job("Failed")
    seen = world.look()
    text = (
        f"{cause}; the RayCluster is deleted, Job cheetah-driver and its pods are kept for their logs; to try again, "
        "change the spec, or delete the Job"
    )
    assert told(seen, "Stalled") == ("True", "Failed", text)
    assert told(seen, "Completed") == ("False", "Failed", text)
    assert told(seen, "Ready") == ("False", "Failed", text)
    assert told(seen, "Reconciling")[0] == "False"
    assert seen.phase is Phase.FAILED


def test_the_cause_outlives_the_pod_that_told_it() -> None:
    world = running()
    world.fail()
    before = world.look()
    world.collect(*world.pods("driver"))
    assert told(world.look(later(60)), "Completed") == told(before, "Completed")


def test_infrastructure_that_keeps_failing_is_told_with_the_limit() -> None:
    world = running()
    world.end_driver(137, reason="OOMKilled")
    world.end_job("Failed", failed=7)
    message = told(world.look(), "Stalled")[2]
    assert message.startswith("the driver failed 7 times (backoffLimit is 6); last error: container driver was")
    assert "killed at its memory limit of 2Gi" in message


DELETED = "the RayCluster is deleted because the fleet completed"
KEPT = "the fleet completed; the RayCluster is kept because spec.whenFinished is Keep"


@pytest.mark.parametrize(
    ("changes", "text"),
    [({}, DELETED), ({"spec.whenFinished": "Delete"}, DELETED), ({"spec.whenFinished": "Keep"}, KEPT)],
)
def test_a_raycluster_is_deleted_or_kept_as_the_spec_says(changes: dict[str, Any], text: str) -> None:
    world = running(changes)
    world.complete()
    assert told(world.look(), "RayClusterReady") == ("False", "Completed", text)


def test_a_raycluster_that_somebody_deleted_is_not_kept() -> None:
    world = running({"spec.whenFinished": "Keep"})
    world.complete()
    world.collect(world.get(RAYCLUSTER, KEY))
    assert told(world.look(), "RayClusterReady")[2] == DELETED


def test_each_condition_of_a_run_that_is_over_has_the_reason_of_its_end() -> None:
    world = running()
    world.complete()
    status = world.look()
    for type_ in ("DriverRunning", "CollectorsAvailable", "WeightsFresh", "Suspended"):
        assert told(status, type_)[:2] == ("False", "Completed")
    assert told(status, "CollectorsAvailable")[2] == "the fleet completed; its collectors have ended"
    assert told(status, "Suspended")[2] == "the fleet completed"
