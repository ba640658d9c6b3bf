"""What the operator does next, for a fleet in every stage of its life."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from tests.unit.collectorfleet_operator.steps import STEPS, take
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, NOON, World, kinds, running, started, told

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import GroupSize, sizes_of
from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.propagation import Propagation
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.role import ROLE
from collectorfleet_operator.children.role_binding import ROLE_BINDING
from collectorfleet_operator.children.service_account import SERVICE_ACCOUNT
from collectorfleet_operator.decide.actions import Action, Delete, Update
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


# What is a run's besides its Job.
OWN = [(RAYCLUSTER, KEY), (ROLE, DRIVER), (ROLE_BINDING, DRIVER), (SERVICE_ACCOUNT, DRIVER), (LEASE, DRIVER)]


def replicas(world: World) -> int:
    return size(world).pods


def to_delete(world: World) -> list[str]:
    return list(size(world).to_delete)


def size(world: World) -> GroupSize:
    return sizes_of(world.get(RAYCLUSTER))[names.WORKER_GROUP]


def test_a_network_policy_comes_before_the_pods_and_goes_when_it_is_not_asked_for() -> None:
    world = World({"spec.networkPolicy": {}})
    assert kinds(world.carry_out()) == ["Create NetworkPolicy", *EVERYTHING]
    world.edit({"spec.networkPolicy": {"ingress": [{}]}})
    assert kinds(world.carry_out()) == ["Update NetworkPolicy"]
    world.edit({})
    assert kinds(world.carry_out()) == ["Delete NetworkPolicy"]
    assert world.plan().actions == ()


def test_a_changed_label_of_a_fleet_reaches_its_children_and_ends_no_pod() -> None:
    world = running({"metadata.labels": {"team": "rl"}})
    given = {"propagation": Propagation(labels=("team",))}
    updated = kinds(world.carry_out(**given))
    assert "Update RayCluster" in updated
    assert not [one for one in updated if not one.startswith("Update") or one == "Update Job"]
    assert world.plan(**given).actions == ()
    template = world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["template"]
    assert template["metadata"]["labels"]["team"] == "rl"


def test_everything_is_made_at_once_and_the_cluster_first() -> None:
    world = World()
    assert kinds(world.carry_out()) == EVERYTHING
    assert world.plan().actions == ()


def test_what_somebody_removed_is_made_again() -> None:
    world = running()
    world.collect(world.get(ROLE, DRIVER))
    assert kinds(world.carry_out()) == ["Create Role"]


def test_a_cluster_that_somebody_changed_is_put_right() -> None:
    world = running()
    cluster = world.get(RAYCLUSTER)
    cluster["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = "8"
    world.store(cluster)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_defaults_that_the_api_server_added_are_left_alone() -> None:
    world = running()
    cluster = world.get(RAYCLUSTER)
    cluster["spec"]["headGroupSpec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst"
    world.store(cluster)
    assert world.carry_out() == ()


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


class TestChangedSpec:
    def test_a_running_driver_keeps_its_cluster_and_only_replicas_follow(self) -> None:
        world = running({"spec.collectors.replicas": 2})
        before = world.get(RAYCLUSTER)["spec"]["headGroupSpec"]
        world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", "spec.collectors.replicas": 3})
        assert kinds(world.carry_out()) == ["Update RayCluster"]
        assert replicas(world) == 3
        assert world.get(RAYCLUSTER)["spec"]["headGroupSpec"] == before
        assert world.carry_out() == ()

    @pytest.mark.parametrize("problem", ["ErrImagePull", "Unschedulable"])
    def test_a_run_that_never_delivered_a_batch_is_replaced_at_once(self, problem: str) -> None:
        world = started()
        world.hold_up("driver", problem, "nothing to be done")
        world.report(0, progress={"batches": 0})
        world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
        (gone,) = world.carry_out()
        assert (gone.kind, gone.why) == (
            JOB,
            "Job cheetah-driver: it has delivered no batch, and generation 2 of the spec is another try",
        )
        assert kinds(world.carry_out()) == ["Delete RayCluster"]
        world.collect(*world.all_pods())
        assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]

    def test_a_run_that_never_delivered_a_batch_is_not_replaced_by_what_cannot_run(self) -> None:
        world = World()
        world.carry_out()
        world.edit({"spec.collectors.resources": {"gpu": 1.5}})
        assert world.carry_out() == ()

    def test_what_an_earlier_driver_delivered_is_progress_too(self) -> None:
        world = running()
        world.end_driver(1)
        world.make_pods()
        world.report(0, driverIncarnation=2)
        world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
        assert world.carry_out() == ()

    @pytest.mark.parametrize(
        "changes",
        [
            pytest.param({"spec.image": "ghcr.io/you/cheetah:2.0"}, id="held"),
            pytest.param({"spec.collectors.resources": {"gpu": 1.5}}, id="invalid"),
            pytest.param({"spec.collection": 7}, id="unreadable"),
        ],
    )
    def test_what_belongs_to_a_run_is_tended_as_it_was_started(self, changes: dict[str, Any]) -> None:
        world = running()
        before = {kind: world.get(kind, key)["metadata"].get("annotations") for kind, key in OWN}
        world.edit(changes)
        assert world.carry_out() == ()
        for kind, key in OWN:
            world.collect(world.get(kind, key))
            if kind == RAYCLUSTER:
                world.collect(*world.pods("head"), *world.pods("worker"))
                # The driver would fail with it.
                assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]
            assert kinds(world.carry_out()) == [f"Create {kind.kind}"]
            assert world.get(kind, key)["metadata"].get("annotations") == before[kind]

    def test_a_run_whose_stored_spec_is_unreadable_follows_replicas(self) -> None:
        world = running()
        world.edit({"spec.collection": 7, "spec.collectors.replicas": 6})
        assert kinds(world.carry_out()) == ["Update RayCluster"]
        assert replicas(world) == 6

    def test_deleting_the_job_starts_over_with_the_new_spec_on_a_new_cluster(self) -> None:
        world = running()
        world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
        assert world.carry_out() == ()
        world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
        assert kinds(world.carry_out()) == ["Delete RayCluster"]
        # KubeRay finds pods by name: the old ones would be taken for the new cluster's.
        assert kinds(world.carry_out()) == ["Delete Pod"] * 5
        assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]
        template = world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["template"]
        assert template["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:2.0"

    def test_a_failed_fleet_takes_a_changed_spec_for_another_try(self) -> None:
        world = running()
        world.fail()
        world.carry_out()
        world.look()
        assert world.carry_out() == ()
        world.edit({"spec.environment": {"factory": "my_envs:other"}})
        assert kinds(world.carry_out()) == ["Delete Job"]
        world.collect(*world.all_pods())
        assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]

    def test_min_available_is_no_part_of_a_run(self) -> None:
        world = running()
        world.edit({"spec.collectors": {"replicas": 4, "minAvailable": 3}})
        assert not world.seen().spec_is_held


class TestTheEnd:
    @pytest.mark.parametrize(("code", "how"), [(0, "Complete"), (64, "Failed")], ids=["completed", "failed"])
    def test_the_cluster_is_freed_and_the_job_kept(self, code: int, how: str) -> None:
        world = running()
        world.end_driver(code)
        world.end_job(how)
        assert kinds(world.carry_out()) == ["Delete RayCluster"]
        assert world.carry_out() == ()

    def test_tidying_up_the_job_of_a_completed_fleet_starts_nothing(self) -> None:
        world = running()
        world.complete()
        world.carry_out()
        world.look()
        world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
        assert world.carry_out() == ()

    def test_deleting_the_job_of_a_failed_fleet_is_another_try(self) -> None:
        world = running()
        world.fail()
        world.carry_out()
        world.look()
        world.collect(world.get(JOB, DRIVER), *world.all_pods())
        assert kinds(world.carry_out()) == ["Create Job", "Create RayCluster"]


def test_children_of_a_deleted_fleet_of_the_same_name_are_waited_for() -> None:
    world = running()
    world.replace_fleet()
    # Accounts are not watched: whether the old ones are still there is found out when they are made.
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
        # What follows a deletion is the next step: of a Job its RayCluster.
        while any(isinstance(action, Delete) for action in world.carry_out()):
            pass
        assert world.plan().actions == ()


@given(STEPS)
@settings(max_examples=60)
def test_an_operator_that_was_killed_goes_on_where_it_was(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for step in steps:
        take(world, *step)
        # It has not seen yet for how long a Lease was quiet; everything else is in the cluster.
        if not world.seen().driver_is_lost:
            assert kinds(world.restarted().plan().actions) == kinds(world.plan().actions)
        world.carry_out()


@given(STEPS)
@settings(max_examples=60)
def test_a_pod_named_for_deletion_exists_and_a_driver_with_progress_keeps_its_job(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    for step in steps:
        take(world, *step)
        names = set(map(name_of, world.pods("worker")))
        seen = world.seen()
        has_ended = seen.job is not None and bool(world.get(JOB, DRIVER).get("status"))
        is_driver_lost = why_ended_without_request(seen) or driver_lost_its_raycluster(seen)
        waited_for = not (has_ended or is_driver_lost or is_overdue(seen))
        actions = world.carry_out()
        for action in actions:
            if isinstance(action, Update) and action.kind == RAYCLUSTER:
                assert set(to_delete(world)) <= names
            if isinstance(action, Delete) and action.kind == JOB:
                assert not waited_for


def failed(minutes_after: int) -> Sequence[Action]:
    """What is done about a failed run whose code was changed so long after it began."""
    world = running({"spec.code": {"configMap": "code"}})
    world.fail("NameError: name 'gym' is not defined")
    world.look()
    return world.plan(code_changed_at=NOON + timedelta(minutes=minutes_after)).actions


def test_a_failed_run_whose_code_was_mended_is_tried_again() -> None:
    (gone,) = failed(5)
    assert gone.why == "Job cheetah-driver: it failed, and the ConfigMap of its code has changed since it began"
    assert kinds(failed(-5)) == ["Delete RayCluster"]


def test_a_mended_code_is_another_try_for_a_run_whose_job_was_tidied_up() -> None:
    world = running({"spec.code": {"configMap": "code"}, "spec.ttlSecondsAfterFinished": 0})
    job = world.get(JOB, DRIVER)
    world.end_driver(64, "NameError: name 'gym' is not defined")
    world.end_job("Failed", startTime="2026-07-01T12:00:00Z")
    world.look()
    world.collect(job, *world.pods("driver"), world.get(RAYCLUSTER), *world.pods("head"), *world.pods("worker"))
    assert world.plan().actions == ()
    assert "Create Job" in kinds(world.plan(code_changed_at=NOON + timedelta(minutes=5)).actions)


def test_nothing_uses_gpus_where_the_driver_is_refused() -> None:
    made = kinds(World().plan().actions)
    assert made.index("Create Job") < made.index("Create RayCluster")


def test_nothing_is_made_where_there_is_no_kuberay() -> None:
    assert World().plan(kuberay_installed=False).actions == ()
