"""What a suspended fleet says: which pods are left, and what a resume does."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import ABSENT
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, World, condition, running, started, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase, Reason
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.conditions.suspended import not_suspended
from collectorfleet_operator.objects import name_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}
OUTPUT = {"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}}
OF_PODS = {
    "RayClusterReady": "a suspended fleet has no RayCluster",
    "DriverRunning": "a suspended fleet has no driver",
    "CollectorsAvailable": "a suspended fleet has no collectors",
    "WeightsFresh": "a suspended fleet has no collectors",
}


def suspended(changes: dict[str, Any] | None = None) -> World:
    """A fleet that ran and was suspended, of which only pods are left."""
    world = running(changes)
    world.edit({**(changes or {}), "spec.suspend": True})
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    world.carry_out()
    return world


def collect_pods(world: World) -> None:
    world.collect(*world.all_pods())


@pytest.mark.parametrize(("left", "more"), [(2, ""), (3, ""), (4, " and 1 more"), (6, " and 3 more")])
def test_up_to_three_pods_that_are_left_are_named_and_the_others_counted(left: int, more: str) -> None:
    world = suspended()
    pods = [*world.all_pods()]
    assert len(pods) == 6
    world.collect(*pods[left:])
    status = world.look()
    named = ", ".join(name_of(pod) for pod in pods[: min(left, 3)])
    text = f"{left} pods ({named}{more}) are being deleted"
    assert status.phase is Phase.SUSPENDING
    for type_, value in (("Ready", "False"), ("Reconciling", "True"), ("Suspended", "False")):
        assert told(status, type_) == (value, "Suspending", text)
    for type_, message in OF_PODS.items():
        assert told(status, type_)[1:] == ("Suspending", message)


def test_a_single_pod_that_is_left_is_one_pod() -> None:
    world = suspended()
    first, *others = [*world.all_pods()]
    world.collect(*others)
    assert told(world.look(), "Suspended")[2] == f"1 pod ({name_of(first)}) is being deleted"


def test_children_that_are_left_are_named_if_no_pod_is() -> None:
    world = running()
    for kind, key in ((JOB, DRIVER), (RAYCLUSTER, KEY)):
        child = world.get(kind, key)
        child["metadata"]["finalizers"] = ["foregroundDeletion"]
        world.store(child)
    world.edit({"spec.suspend": True})
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    collect_pods(world)
    text = "Job cheetah-driver and RayCluster cheetah are being deleted"
    assert told(world.look(), "Suspended") == ("False", "Suspending", text)
    world.collect(world.get(JOB, DRIVER))
    assert told(world.look(), "Suspended")[2] == "RayCluster cheetah is being deleted"


def test_children_of_another_fleet_of_this_name_do_not_hold_up_a_suspended_one() -> None:
    world = started()
    collect_pods(world)
    world.replace_fleet()
    world.edit({"spec.suspend": True})
    assert told(world.look(), "Suspended")[:2] == ("True", "Suspended")


def test_a_suspended_fleet_is_neither_ready_nor_at_work_and_each_condition_says_why() -> None:
    world = suspended()
    collect_pods(world)
    status = world.look()
    assert "Ready" not in {one.type for one in status.conditions}
    assert told(status, "Reconciling") == ("False", "Suspended", "no change is in progress")
    assert told(status, "Stalled")[0] == "False"
    assert told(status, "Completed")[0] == "False"
    assert told(status, "UpToDate")[0] == "False"
    for type_, message in OF_PODS.items():
        value = "Unknown" if type_ == "WeightsFresh" else "False"
        assert told(status, type_) == (value, "Suspended", message)
    assert told(status, "Suspended")[:2] == ("True", "Suspended")


@pytest.mark.parametrize(
    ("changes", "report", "says"),
    [
        (
            CHECKPOINT,
            {"checkpoint": {"frames": 8000}},
            "after a resume, the fleet continues from its checkpoint at 8000 of 12000 frames",
        ),
        (
            CHECKPOINT,
            {},
            "after a resume, the fleet starts over and 12000 frames are lost, because no checkpoint was written",
        ),
        (
            {},
            {"checkpoint": {"frames": 8000}},
            (
                "after a resume, the fleet starts over and 12000 frames are lost, because spec.driver.checkpoint is "
                "not set"
            ),
        ),
        (OUTPUT, {}, "after a resume, the fleet continues after the 12000 frames of its output"),
        (
            {**OUTPUT, **CHECKPOINT},
            {},
            "after a resume, the fleet starts over and 12000 frames are lost, because no checkpoint was written",
        ),
    ],
    ids=["checkpoint", "none written", "none asked for", "output", "output and no checkpoint written"],
)
def test_it_says_what_a_resume_does(changes: dict[str, Any], report: dict[str, Any], says: str) -> None:
    world = suspended(changes)
    world.report(0, desired=4, **report)
    collect_pods(world)
    assert told(world.look(), "Suspended") == ("True", "Suspended", f"the fleet has no pods; {says}")


def test_a_fleet_without_a_batch_has_nothing_to_continue_from() -> None:
    text = "the fleet has no pods; the fleet has delivered no batch yet"
    assert told(World({"spec.suspend": True}).look(), "Suspended") == ("True", "Suspended", text)
    world = suspended(CHECKPOINT)
    world.report(0, desired=4, progress={"batches": 0})
    collect_pods(world)
    assert told(world.look(), "Suspended")[2] == text


def test_an_idle_fleet_says_since_when_and_how_to_resume_it() -> None:
    world = running({"spec.idleTimeoutSeconds": 1800, **CHECKPOINT})
    world.report(4, checkpoint={"frames": 12000})
    world.wait_until(1800)
    world.look(world.now)
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    world.carry_out()
    collect_pods(world)
    text = (
        "the driver handed out no batch for 1800 s (spec.idleTimeoutSeconds): the fleet has no pods; after a resume, "
        "the fleet "
        "continues from its checkpoint at 12000 of 12000 frames; to resume, change the spec, or set spec.suspend to "
        "true and back"
    )
    status = world.look(world.now)
    assert told(status, "Suspended") == ("True", "IdleTimeout", text)
    assert told(status, "RayClusterReady")[1] == "IdleTimeout"


def test_a_suspended_fleet_with_an_invalid_spec_says_each_problem() -> None:
    world = World({"spec.suspend": True, "spec.workers.gpu.perPod": 2, "spec.collectors.resources.gpu": 3.0})
    problems = world.seen().problems
    assert problems
    status = world.look()
    assert told(status, "Stalled") == ("True", "InvalidSpec", "; ".join(problems))
    assert told(status, "UpToDate") == ("False", "InvalidSpec", "; ".join(problems))


def test_a_driver_that_is_waited_for_is_named() -> None:
    world = running()
    pod = name_of(world.pods("driver")[0])
    world.edit({"spec.suspend": True})
    text = f"spec.suspend is true: driver pod {pod} ends after its current batch"
    assert told(world.look(), "Suspended") == ("False", "Suspending", text)


def test_a_fleet_that_nobody_suspended_says_so() -> None:
    found = not_suspended()
    assert (found.status.value, found.reason) == ("False", Reason.NOT_SUSPENDED)
    assert found.message == "spec.suspend is false"
    assert condition(running().look(), "Suspended").message == found.message
