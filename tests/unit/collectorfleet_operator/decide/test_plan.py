"""What the operator does next, for a fleet in every stage of its life."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.collectorfleet_operator.decide.worker_pods import to_delete
from tests.unit.collectorfleet_operator.steps import STEPS, take
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, NOON, World, kinds, running, told

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.actions import Delete, Update
from collectorfleet_operator.decide.deleted_cluster import driver_lost_its_raycluster
from collectorfleet_operator.decide.plan import Plan, plan
from collectorfleet_operator.decide.stopping import is_overdue, why_ended_without_request
from collectorfleet_operator.objects import name_of

EVERYTHING = [
    "Create ServiceAccount",
    "Create Job",
    "Create RayCluster",
    "Create Role",
    "Create RoleBinding",
    "Create Lease",
    "Create ConfigMap",
]


def test_everything_is_made_at_once_and_nothing_uses_gpus_before_the_driver_is_made() -> None:
    world = World()
    assert kinds(world.carry_out()) == EVERYTHING
    assert world.plan().actions == ()


def test_a_network_policy_comes_before_the_pods_and_goes_when_it_is_not_asked_for() -> None:
    world = World({"spec.networkPolicy": {}})
    assert kinds(world.carry_out()) == ["Create NetworkPolicy", *EVERYTHING]
    world.edit({"spec.networkPolicy": {"ingress": [{}]}})
    assert kinds(world.carry_out()) == ["Update NetworkPolicy"]
    world.edit({})
    assert kinds(world.carry_out()) == ["Delete NetworkPolicy"]
    assert world.plan().actions == ()


def test_an_invalid_spec_makes_nothing() -> None:
    world = World({"spec.collectors.resources": {"gpu": 0.3}, "spec.workers": {"collectorsPerPod": 4}})
    assert world.plan().actions == ()


def test_a_spec_that_becomes_invalid_frees_the_cluster_once_no_driver_runs() -> None:
    world = running()
    world.edit({"spec.collectors.resources": {"gpu": 0.3}, "spec.workers": {"collectorsPerPod": 4}})
    assert kinds(world.plan().actions) == []
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert world.carry_out() == ()


@pytest.mark.parametrize("role", ["worker", "head", "driver"])
def test_a_pod_that_no_controller_made_is_ignored(role: str) -> None:
    labels = {names.FLEET_LABEL: KEY.name, names.ROLE_LABEL: role}
    metadata = {"name": "stranger", "namespace": KEY.namespace, "labels": labels}
    stranger = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": "Running"}}
    world = World()
    world.store(stranger)
    assert "Create RayCluster" in kinds(world.carry_out())
    world = running()
    world.store(stranger)
    assert [one.name for one in world.seen().ignored_pods] == ["stranger"]
    assert kinds(world.plan().actions) == []
    assert told(world.look(), "Ready")[0] == "True"


def test_a_fleet_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    world = World()
    fleet = world.seen().fleet
    metadata = fleet.metadata.model_copy(update={"deletion_timestamp": "2026-07-01T12:00:00Z"})
    seen = world.seen().__class__(fleet.model_copy(update={"metadata": metadata}), NOON)
    assert plan(seen) == Plan()


def test_children_of_a_deleted_fleet_of_the_same_name_are_waited_for() -> None:
    world = running()
    world.replace_fleet()
    # The operator does not watch accounts. It learns that the old ones are gone when it creates new ones.
    assert world.plan().actions == ()
    world.collect(world.get(RAYCLUSTER), world.get(JOB, DRIVER))
    assert kinds(world.carry_out()) == ["Delete Pod"] * 5
    assert world.plan().actions == ()
    world.collect(*world.all_pods())
    assert kinds(world.plan().actions) == EVERYTHING


@given(STEPS)
@settings(max_examples=100)
def test_a_plan_that_was_carried_out_asks_for_nothing_more(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for step in steps:
        take(world, *step)
        # A deletion has a next step: after the Job, the operator deletes the RayCluster.
        while any(isinstance(action, Delete) for action in world.carry_out()):
            pass
        assert world.plan().actions == ()


@given(STEPS)
@settings(max_examples=60)
def test_an_operator_that_was_killed_goes_on_where_it_was(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for step in steps:
        take(world, *step)
        # A new operator does not know how long a Lease has been unchanged. All else is stored in the cluster.
        if not world.seen().driver_is_lost:
            assert kinds(world.restarted().plan().actions) == kinds(world.plan().actions)
        world.carry_out()


@given(st.sampled_from([World, running]), STEPS)
@settings(max_examples=60)
# Few of the drawn steps lead to a named pod, so one example surely does.
@example(running, [("edit", {"spec.collectors.replicas": 1}), ("report",)])
def test_a_pod_named_for_deletion_exists_and_a_driver_with_progress_keeps_its_job(
    begin: Callable[[], World], steps: list[tuple[Any, ...]]
) -> None:
    world = begin()
    for step in steps:
        take(world, *step)
        present = set(map(name_of, world.pods("worker")))
        seen = world.seen()
        has_ended = seen.job is not None and bool(world.get(JOB, DRIVER).get("status"))
        is_driver_lost = why_ended_without_request(seen) or driver_lost_its_raycluster(seen)
        waited_for = not (has_ended or is_driver_lost or is_overdue(seen))
        actions = world.carry_out()
        for action in actions:
            if isinstance(action, Update) and action.kind == RAYCLUSTER:
                assert set(to_delete(world)) <= present
            if isinstance(action, Delete) and action.kind == JOB:
                assert not waited_for


def test_nothing_is_made_where_there_is_no_kuberay() -> None:
    assert World().plan(kuberay_installed=False).actions == ()
