"""What the conditions of a run under way add up to."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.world import World, later, running, started, told

from collectorfleet_api.v1alpha1 import Phase, Reason
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.network_policy import NETWORK_POLICY
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.decide.situation import Refused
from collectorfleet_operator.objects import Kind


def test_ready_when_enough_collectors_are_available_although_a_worker_pod_is_not() -> None:
    world = running()
    pod = world.pods("worker")[0]
    world.set_pod(pod, phase="Pending")
    world.report(3)
    seen = world.look()
    assert told(seen, "Ready") == ("True", "Collecting", "3 of 4 collectors run acknowledged weights")
    assert told(seen, "Reconciling")[:2] == ("True", "SomeUnavailable")
    assert seen.phase is Phase.COLLECTING
    assert seen.replicas == 3


@pytest.mark.parametrize("of_an_earlier_start", [False, True])
def test_a_fleet_is_not_ready_before_its_first_batch(of_an_earlier_start: bool) -> None:
    world = running()
    if of_an_earlier_start:
        world.look()
    there = {"desired": 4, "available": 4, "summary": "4/4"}
    world.report(4, driverIncarnation=2, progress={"batches": 0, "framesDelivered": 0, "collectors": there})
    seen = world.look()
    assert told(seen, "CollectorsAvailable")[0] == "True"
    text = "4 of 4 collectors run acknowledged weights; the driver has not delivered a batch yet"
    assert told(seen, "Ready") == ("False", "FirstBatchPending", text)
    assert told(seen, "Reconciling")[:2] == ("True", "FirstBatchPending")
    assert seen.phase is Phase.STARTING
    world.report(4)
    assert told(world.look(), "Ready")[0] == "True"


def test_a_fleet_as_its_spec_asks_reconciles_no_more() -> None:
    seen = running().look()
    assert told(seen, "Ready")[0] == "True"
    assert told(seen, "Reconciling")[:2] == ("False", "AllAvailable")
    assert seen.selector == "collectorfleet.dev/fleet=cheetah,collectorfleet.dev/role=worker"


def test_no_pods_stand_for_collectors_where_each_holds_several() -> None:
    # An autoscaler on pod metrics would count two pods for four collectors, and halve the fleet.
    selector = running({"spec.workers.collectorsPerPod": 2}).look().selector
    assert selector == "collectorfleet.dev/fleet=cheetah,collectorfleet.dev/role=collector"


def test_a_driver_with_a_problem_comes_before_a_head_that_starts() -> None:
    world = started()
    world.hold_up("driver", "CreateContainerConfigError", 'configmap "code" not found')
    ready = told(world.look(), "Ready")
    assert ready[1] == "CreateContainerConfigError"
    assert 'configmap "code" not found' in ready[2]


def test_an_invalid_spec_stalls_the_fleet_with_all_its_problems() -> None:
    seen = World({"spec.collectors.resources": {"gpu": 1.5}, "spec.driver.resources": {"gpu": 0.5}}).look()
    status, reason, message = told(seen, "Stalled")
    assert (status, reason) == ("True", "InvalidSpec")
    assert "1.5 is more than one GPU and not whole" in message
    assert "0.5 is not a whole number of GPUs" in message
    assert told(seen, "Ready")[:2] == ("False", "InvalidSpec")
    assert seen.phase is Phase.FAILED


def test_a_run_goes_on_while_its_changed_spec_is_invalid() -> None:
    world = running()
    world.edit({"spec.collectors.resources": {"gpu": 1.5}})
    seen = world.look()
    status, reason, message = told(seen, "UpToDate")
    assert (status, reason) == ("False", "InvalidSpec")
    assert "more than one GPU" in message
    assert message.endswith("the driver continues with generation 1 of the spec")
    # Nothing is broken that deployment tools should give up on.
    assert [told(seen, type_)[0] for type_ in ("Ready", "Stalled", "Reconciling")] == ["True", "False", "False"]


def test_a_report_of_an_earlier_fleet_of_this_name_is_ignored() -> None:
    world = running()
    world.report(4, fleetUID="fleet-0")
    seen = world.look()
    assert told(seen, "CollectorsAvailable")[:2] == ("Unknown", "NoReport")
    assert told(seen, "Ready")[0] == "False"


def test_a_report_from_before_the_driver_was_replaced_is_ignored() -> None:
    world = running()
    world.report(4, at=later(-60))
    assert told(world.look(), "CollectorsAvailable")[:2] == ("Unknown", "NoReport")


def test_a_changed_spec_that_the_driver_cannot_take_up_is_told() -> None:
    world = running()
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    seen = world.look()
    # Reconciling would be for ever: tools that wait for the end of a change come to one.
    assert [told(seen, type_)[0] for type_ in ("Ready", "Stalled", "Reconciling")] == ["True", "False", "False"]
    status, reason, message = told(seen, "UpToDate")
    assert (status, reason) == ("False", "RestartNeeded")
    assert "runs generation 1" in message
    assert "generation 2 waits" in message
    assert "delete Job cheetah-driver to restart with the changed spec" in message
    world.edit({})
    assert told(world.look(), "UpToDate")[:2] == ("True", "UpToDate")


def test_a_held_spec_is_told_of_a_fleet_that_is_not_ready_too() -> None:
    world = running()
    world.report(0)
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    seen = world.look()
    assert told(seen, "Ready")[0] == "False"
    assert told(seen, "UpToDate")[:2] == ("False", "RestartNeeded")


@pytest.mark.parametrize(("code", "how"), [(0, "Complete"), (64, "Failed")], ids=["completed", "failed"])
def test_a_fleet_that_is_over_says_that_it_does_not_run_a_changed_spec(code: int, how: str) -> None:
    world = running()
    world.end_driver(code, "boom")
    world.end_job(how)
    assert told(world.look(), "UpToDate")[0] == "True"
    world.edit({"spec.collectors.resources": {"gpu": 1.5}})
    status, reason, message = told(world.look(), "UpToDate")
    assert (status, reason) == ("False", "Completed" if how == "Complete" else "Failed")
    assert message.startswith("generation 2 of the spec does not run")


def test_a_driver_that_is_about_to_end_leaves_the_fleet_as_it_was() -> None:
    world = running()
    before = world.look()
    gone = {"desired": 4, "available": 0, "summary": "0/4"}
    world.report(
        0, driverEnded=True, progress={"batches": 3, "collectors": gone, "lastBatchTime": "2026-07-01T12:00:00Z"}
    )
    after = world.look()
    assert after.conditions == before.conditions
    assert after.phase == before.phase
    world.end_driver(1, "the head is lost")
    assert told(world.look(), "CollectorsAvailable")[:2] == ("False", "DriverNotRunning")


@pytest.mark.parametrize(
    ("changes", "kind", "holds_collectors"),
    [
        pytest.param({}, ROLE, False, id="a Role"),
        pytest.param({"spec.networkPolicy": {}}, NETWORK_POLICY, False, id="a NetworkPolicy"),
        pytest.param({}, RAYCLUSTER, True, id="a RayCluster"),
        pytest.param(WITHOUT_RAY, JOB, True, id="a Job of collectors"),
    ],
)
def test_a_fleet_that_runs_says_so_although_an_update_of_a_child_is_refused(
    changes: dict[str, Any], kind: Kind, holds_collectors: bool
) -> None:
    world = running(changes)
    before = world.look()
    refused = Refused(kind, Reason.REFUSED, "apply: not in this namespace", holds_collectors)
    seen = world.look(refused=[refused])
    assert told(seen, "Stalled") == ("True", "Refused", refused.message)
    # Nothing else is other than it was.
    others = {one.type for one in before.conditions} - {"Stalled", "Reconciling"}
    assert {type_: told(seen, type_) for type_ in others} == {type_: told(before, type_) for type_ in others}
    assert told(seen, "Reconciling")[0] == "False"
    assert (seen.phase, seen.replicas) == (Phase.COLLECTING, 4)


def test_a_child_that_is_refused_explains_a_driver_that_does_not_run() -> None:
    refused = Refused(ROLE, Reason.REFUSED, "create Role: exceeded quota")
    for world in (World(), started()):
        seen = world.look(refused=[refused])
        assert told(seen, "DriverRunning") == ("False", "Refused", refused.message)
        assert told(seen, "Stalled") == ("True", "Refused", refused.message)


def test_what_is_wrong_with_a_driver_that_runs_is_not_hidden_by_a_child_that_is_refused() -> None:
    world = running()
    world.seconds = 600
    seen = world.look(refused=[Refused(ROLE, Reason.REFUSED, "apply Role: exceeded quota")])
    assert told(seen, "DriverRunning")[:2] == ("False", "DriverLost")
    assert told(seen, "Stalled") == ("True", "Refused", "apply Role: exceeded quota")
