"""The story that `kubectl describe` tells: a handful of events, each once."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.world import KEY, NOON, World, kinds, later, running, started

from collectorfleet_api.v1alpha1 import CollectorFleet, Reason
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.decide.events import Change, condition_changes, event
from collectorfleet_operator.decide.situation import Refused


def changes(world: World, seconds: float = 0) -> list[Change]:
    """What the next look at the world has to tell."""
    before = CollectorFleet.parse_stored(world.get(FLEET)).status
    return condition_changes(before.conditions if before else [], world.look(later(seconds)))


def told(world: World, seconds: float = 0) -> list[str]:
    return [f"{one.type} {one.reason}" for one in changes(world, seconds)]


def test_a_good_run_is_told_in_four_steps() -> None:
    world = started()
    assert told(world) == []
    world.run_pods("head", "worker")
    assert told(world) == ["Normal RayClusterReady"]
    world.run_pods("driver")
    assert told(world) == ["Normal DriverRunning"]
    world.report(4)
    assert told(world) == ["Normal CollectorsAvailable"]
    assert told(world) == []
    world.complete()
    assert told(world) == ["Normal Completed"]
    world.carry_out()
    assert told(world) == []


@pytest.mark.parametrize("ended", [False, True], ids=["delivered no batch", "failed"])
def test_nobody_is_asked_to_delete_a_job_that_the_operator_deletes(ended: bool) -> None:
    """The operator writes the status before it hears that the Job is being deleted."""
    world = started()
    if ended:
        world.run_pods("head", "worker", "driver")
        world.fail()
    world.look()
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
    assert "Delete Job" in kinds(world.plan().actions)
    (change,) = [one for one in changes(world, 10) if one.reason in ("RestartNeeded", "Updating")]
    assert change.reason == "Updating"
    assert change.message.startswith("Job cheetah-driver is replaced: it ")
    assert change.message.endswith("generation 2 of the spec starts another try")


def test_a_failure_is_told_once_with_its_cause() -> None:
    world = running()
    world.look()
    world.fail()
    (failed,) = changes(world)
    assert (failed.type, failed.reason) == ("Warning", "Failed")
    assert failed.message.startswith("no such game")
    assert told(world) == []


def test_a_problem_is_told_and_that_it_is_over() -> None:
    world = started()
    world.look()
    world.hold_up("head", "ErrImagePull", "not found")
    assert told(world) == ["Warning ImagePullBackOff"]
    world.hold_up("head", "ImagePullBackOff", "back-off")
    assert told(world) == []
    world.run_pods("head", "worker")
    assert told(world) == ["Normal RayClusterReady"]


def test_an_invalid_spec_and_a_missing_kuberay_are_told_once() -> None:
    world = World({"spec.collectors.resources": {"gpu": 1.5}})
    assert told(world) == ["Warning InvalidSpec"]
    world = World()
    found = condition_changes([], world.look(kuberay_installed=False))
    assert [one.reason for one in found] == ["KubeRayMissing"]


@pytest.mark.parametrize("world", [World(), running()], ids=["of a fleet that starts", "of one that runs"])
def test_a_child_that_is_refused_is_told_once(world: World) -> None:
    before = world.look().conditions
    refused = Refused(ROLE, Reason.REFUSED, "apply Role: exceeded quota")
    found = [(one.type, one.reason, one.message) for one in condition_changes(before, world.look(refused=[refused]))]
    assert found == [("Warning", "Refused", refused.message)]


def test_collectors_that_are_lost_and_come_back_are_told_each_time() -> None:
    world = running({"spec.collectors": {"replicas": 4, "minAvailable": 4}})
    world.look()
    names = set()
    for round_ in range(2):
        world.report(3)
        lost = changes(world, 100 * round_ + 10)
        world.report(4)
        back = changes(world, 100 * round_ + 50)
        assert [one.reason for one in lost + back] == ["BelowMinAvailable", "CollectorsAvailable"]
        names |= {event(KEY, "fleet-1", one, NOON)["metadata"]["name"] for one in lost + back}
    assert len(names) == 4


def test_the_same_change_told_again_is_the_same_event() -> None:
    world = running()
    before = CollectorFleet.parse_stored(world.get(FLEET)).status
    assert before is not None
    once = condition_changes(before.conditions, world.look(NOON))
    # Killed before the status was written: the next operator sees the same change, later.
    again = condition_changes(before.conditions, world.look(later(30)))
    assert [event(KEY, "fleet-1", one, NOON)["metadata"]["name"] for one in once] == [
        event(KEY, "fleet-1", one, later(30))["metadata"]["name"] for one in again
    ]


def test_a_long_message_is_cut_to_what_the_api_server_takes() -> None:
    made = event(KEY, "fleet-1", Change("Normal", "Completed", "x" * 5000, "id"), NOON)
    assert len(made["message"]) == 1024
    assert made["metadata"]["name"].startswith("cheetah.")
