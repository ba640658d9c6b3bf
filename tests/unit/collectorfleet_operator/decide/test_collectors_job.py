"""A fleet with launcher Job: a Job in the place of the RayCluster, and otherwise as any other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.world import COLLECTORS, DRIVER, KEY, World, condition, later, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase, Reason
from collectorfleet_operator.children.collectors_job import INDEX_LABEL
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.actions import Create, CreateSecret, Delete, Update
from collectorfleet_operator.decide.situation import Refused
from collectorfleet_operator.objects import Object, label, metadata, name_of, uid_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}


def running(changes: dict[str, Any] | None = None) -> World:
    world = World({**WITHOUT_RAY, **(changes or {})})
    world.start()
    return world


def collectors(world: World) -> Object:
    return world.get(JOB, COLLECTORS)


def size(world: World) -> tuple[int, int]:
    spec = collectors(world)["spec"]
    return spec["parallelism"], spec["completions"]


def edit(world: World, changes: dict[str, Any]) -> None:
    world.edit({**WITHOUT_RAY, **changes})


def test_it_is_made_in_one_go_with_its_secret_first_and_without_kuberay() -> None:
    world = World(WITHOUT_RAY)
    actions = world.carry_out(kuberay_installed=False)
    assert isinstance(actions[0], CreateSecret)
    assert {f"{one.kind} {name_of(one.manifest)}" for one in actions if isinstance(one, Create)} == {
        "ServiceAccount cheetah-driver",
        "Job cheetah-driver",
        "Service cheetah-driver",
        "Job cheetah-collectors",
        "Role cheetah-driver",
        "RoleBinding cheetah-driver",
        "Lease cheetah-driver",
        "ConfigMap cheetah-timeline",
    }
    assert world.secrets == {"cheetah-collectors-fleet-1"}
    assert world.plan(kuberay_installed=False).actions == ()


def test_it_collects_and_says_so_by_a_condition_of_its_own() -> None:
    seen = running().look(kuberay_installed=False)
    assert told(seen, "CollectorsJobReady") == ("True", "Ready", "4 of 4 worker pods are ready")
    assert "RayClusterReady" not in {one.type for one in seen.conditions}
    assert told(seen, "Ready")[:2] == ("True", "Collecting")
    assert (seen.phase, seen.replicas) == (Phase.COLLECTING, 4)
    assert seen.ray_cluster is None
    assert seen.collectors_job is not None
    assert seen.collectors_job.name == "cheetah-collectors"
    assert seen.collectors_job.worker_pods is not None
    assert (seen.collectors_job.worker_pods.desired, seen.collectors_job.worker_pods.ready) == (4, 4)


def test_a_fleet_grows_at_once_and_nothing_but_its_size_changes() -> None:
    world = running()
    before = collectors(world)
    edit(world, {"spec.collectors.replicas": 6, "metadata.labels": {"team": "rl"}})
    (update,) = world.carry_out()
    assert isinstance(update, Update)
    assert update.uid == uid_of(before)
    assert size(world) == (6, 6)
    assert collectors(world)["spec"]["template"] == before["spec"]["template"]
    assert "from 4 to 6 worker pods for 1 collector each" in update.why
    assert world.plan().actions == ()


def test_a_fleet_shrinks_once_its_driver_has_left_the_highest_indexes() -> None:
    world = running()
    edit(world, {"spec.collectors.replicas": 2})
    world.report(4, desired=4)
    assert world.plan().actions == ()
    world.report(2)
    world.carry_out()
    assert size(world) == (2, 2)
    assert world.plan().actions == ()


def test_a_size_that_somebody_else_wrote_is_put_right() -> None:
    world = running()
    job = collectors(world)
    world.store({**job, "spec": {**job["spec"], "parallelism": 1}})
    world.carry_out()
    assert size(world) == (4, 4)


def test_a_suspended_fleet_has_no_pods_and_a_resumed_one_has_them_again() -> None:
    world = running(CHECKPOINT)
    edit(world, {**CHECKPOINT, "spec.suspend": True})
    orders = world.look().orders
    assert orders is not None
    assert orders.stop_at_batch
    world.end_driver(names.EXIT_STOPPED)
    world.end_job("Failed")
    world.look()
    while actions := world.carry_out():
        assert all(isinstance(one, Delete) for one in actions)
    world.collect(*world.pods("driver"), *world.pods("worker"))
    assert world.cache.get(JOB, COLLECTORS) is world.cache.get(JOB, DRIVER) is None
    suspended = world.look()
    assert told(suspended, "Suspended")[0] == "True"
    assert told(suspended, "CollectorsJobReady")[2] == "a suspended fleet has no collectors' Job"
    edit(world, CHECKPOINT)
    world.carry_out()
    assert size(world) == (4, 4)
    assert collectors(world)


def test_changed_workers_are_a_new_job_while_the_driver_goes_on() -> None:
    rolling = {"spec.updateStrategy": {"type": "RollingUpdate"}}
    world = running(rolling)
    driver, before = uid_of(world.get(JOB, DRIVER)), uid_of(collectors(world))
    edit(world, {**rolling, "spec.workers.template": {"spec": {"nodeSelector": {"pool": "cpu"}}}})
    # In one look: nobody tells the operator of what it wrote itself.
    _, deleted = world.carry_out()
    assert isinstance(deleted, Delete)
    assert (deleted.name, deleted.uid) == ("cheetah-collectors", before)
    # Its pods are waited for: of two hosts of one rank one would push the other out.
    assert world.plan().actions == ()
    world.collect(*world.pods("worker"))
    world.carry_out()
    assert collectors(world)["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "cpu"}
    assert uid_of(world.get(JOB, DRIVER)) == driver
    assert world.plan().actions == ()
    assert world.look().orders is None


def test_a_changed_template_is_held_by_default() -> None:
    world = running()
    edit(world, {"spec.workers.template": {"spec": {"nodeSelector": {"pool": "cpu"}}}})
    assert world.plan().actions == ()
    assert told(world.look(), "UpToDate")[:2] == ("False", "RestartNeeded")


@pytest.mark.parametrize("to_ray", [True, False], ids=["to Ray", "from Ray"])
def test_a_fleet_goes_on_with_another_launcher_once_nothing_is_left_of_the_first(to_ray: bool) -> None:
    first, second = (WITHOUT_RAY, {}) if to_ray else ({}, WITHOUT_RAY)
    changes = {**CHECKPOINT, "spec.updateStrategy": {"type": "RollingUpdate"}}
    world = World({**first, **changes})
    world.start()
    world.edit({**second, **changes})
    assert told(world.look(), "UpToDate")[:2] == ("False", "Updating")
    world.end_driver(names.EXIT_STOPPED)
    world.end_job("Failed")
    world.carry_out()
    world.collect(*world.pods("driver"))
    (deleted,) = world.carry_out()
    assert isinstance(deleted, Delete)
    assert deleted.kind == (JOB if to_ray else RAYCLUSTER)
    assert {one.kind for one in world.carry_out()} == {POD}
    world.carry_out()
    gone, there = (COLLECTORS, KEY) if to_ray else (KEY, COLLECTORS)
    kinds = (JOB, RAYCLUSTER) if to_ray else (RAYCLUSTER, JOB)
    assert world.cache.get(kinds[0], gone) is None
    assert world.cache.get(kinds[1], there) is not None
    assert world.plan().actions == ()


def test_at_its_end_the_pods_go_and_the_drivers_log_stays() -> None:
    world = running()
    world.end_driver(0)
    world.end_job("Complete")
    done = world.look()
    assert told(done, "CollectorsJobReady")[2] == "the collectors' Job is deleted because the fleet completed"
    assert "the collectors' Job is deleted, Job cheetah-driver is kept for its log" in told(done, "Completed")[2]
    (deleted,) = world.carry_out()
    assert isinstance(deleted, Delete)
    assert deleted.name == "cheetah-collectors"


def test_a_pod_on_a_lost_node_is_given_up() -> None:
    world = running()
    pod = world.pods("worker")[0]
    pod["metadata"] |= {"deletionTimestamp": "2026-07-01T12:00:05Z", "deletionGracePeriodSeconds": 5}
    lost = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    world.set_pod(pod, phase="Running", conditions=[lost])
    world.seconds = 20
    (deleted,) = world.plan().actions
    assert isinstance(deleted, Delete)
    assert (deleted.kind, deleted.name, deleted.force) == (POD, name_of(pod), True)


def test_an_evicted_pod_is_nobodys_to_drain() -> None:
    world = running()
    pod = world.pods("worker")[0]
    pod["metadata"] |= {"deletionTimestamp": "2026-07-01T12:00:30Z", "deletionGracePeriodSeconds": 5}
    world.store(pod)
    assert world.look().orders is None
    assert world.plan().actions == ()


def test_what_keeps_its_pods_from_starting_is_told() -> None:
    world = World(WITHOUT_RAY)
    world.carry_out()
    assert told(world.look(), "CollectorsJobReady")[:2] == ("False", "WorkersStarting")
    world.make_pods()
    world.hold_up("worker", "ImagePullBackOff", "no such image")
    assert told(world.look(), "CollectorsJobReady")[:2] == ("False", "ImagePullBackOff")
    assert "4 of 4 worker pods: no such image" in told(world.look(), "Ready")[2]


def newest_of(pods: Iterable[Object]) -> Object:
    return max(pods, key=lambda one: str(metadata(one)["creationTimestamp"]))


def fail(world: World, index: int) -> None:
    """The newest pod of the index runs out of memory; its Job keeps it."""
    pod = newest_of(pod for pod in world.pods("worker") if label(pod, INDEX_LABEL) == str(index))
    state = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    world.set_pod(pod, phase="Failed", containerStatuses=[{"name": "collectors", "state": state}])


def test_pods_that_failed_long_ago_are_not_what_is_wrong_today() -> None:
    world = running()
    for index in (0, 1):
        fail(world, index)
    assert told(world.look(), "CollectorsJobReady")[1:] == (
        "OOMKilled",
        "2 of 4 worker pods: container collectors was killed at its memory limit of 2560Mi",
    )
    world.seconds = 20
    world.make_pods()
    for index in (0, 1):
        fail(world, index)
    world.seconds = 60
    world.make_pods()
    text = "2 of 4 worker pods are ready"
    assert told(world.look(), "CollectorsJobReady") == ("False", "WorkersStarting", text)
    newest = newest_of(world.pods("worker"))
    fits_nowhere = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    world.set_pod(newest, phase="Pending", conditions=[fits_nowhere])
    assert told(world.look(), "CollectorsJobReady")[1:] == ("CollectorUnschedulable", "1 of 4 worker pods: 0/3 nodes")


def test_a_pod_that_is_yet_to_be_replaced_is_missing_whatever_failed_before_it() -> None:
    world = running()
    fail(world, 0)
    world.seconds = 20
    world.make_pods()
    newest = newest_of(world.pods("worker"))
    newest["metadata"] |= {"deletionTimestamp": "2026-07-01T12:00:30Z", "deletionGracePeriodSeconds": 5}
    world.store(newest)
    text = (
        f"3 of 4 worker pods are ready; being deleted: {name_of(newest)}; Kubernetes has created 3 of the worker "
        "pods, and replaces a lost pod after a delay"
    )
    assert told(world.look(), "CollectorsJobReady") == ("False", "WorkersStarting", text)


def test_pods_that_failed_in_a_larger_fleet_say_nothing_of_a_smaller_one() -> None:
    world = running()
    fail(world, 3)
    edit(world, {"spec.collectors.replicas": 2})
    world.report(2)
    world.carry_out()
    world.make_pods()
    assert told(world.look(), "CollectorsJobReady") == ("True", "Ready", "2 of 2 worker pods are ready")


def test_a_secret_that_was_lost_comes_back_with_both_jobs() -> None:
    world = running()
    world.secrets.clear()
    assert world.carry_out() == ()  # nobody may look whether it is there
    world.collect(collectors(world), world.get(JOB, DRIVER), *world.pods("worker"), *world.pods("driver"))
    made = world.carry_out()
    assert isinstance(made[0], CreateSecret)
    assert world.secrets == {"cheetah-collectors-fleet-1"}
    assert collectors(world)
    assert world.get(JOB, DRIVER)
    assert world.plan().actions == ()


def test_a_secret_that_may_not_be_made_stalls_the_fleet() -> None:
    refused = Refused(JOB, Reason.REFUSED, "create Secret: forbidden", holds_collectors=True)
    seen = World(WITHOUT_RAY).look(refused=[refused])
    assert told(seen, "CollectorsJobReady") == ("False", "Refused", "create Secret: forbidden")
    assert told(seen, "Stalled")[0] == "True"
    assert condition(seen, "DriverRunning").reason == Reason.PENDING


def test_a_queue_counts_the_driver_and_the_pods_of_the_job() -> None:
    world = World({**WITHOUT_RAY, "metadata.labels": {names.QUEUE_LABEL: "team"}})
    (asked,) = world.carry_out()
    assert isinstance(asked, Create)
    assert [(one["name"], one["count"]) for one in asked.manifest["spec"]["podSets"]] == [
        ("driver", 1),
        ("workers-collectors", 4),
    ]
    admission = {
        "clusterQueue": "all",
        "podSetAssignments": [
            {"name": "driver", "flavors": {"cpu": "spot"}, "count": 1},
            {"name": "workers-collectors", "flavors": {"cpu": "spot"}, "count": 3},
        ],
    }
    world.flavors["spot"] = {"spec": {"nodeLabels": {"pool": "spot"}}}
    conditions = [{"type": one, "status": "True"} for one in ("QuotaReserved", "Admitted")]
    world.store({**asked.manifest, "status": {"admission": admission, "conditions": conditions}})
    world.carry_out()
    assert size(world) == (3, 3)
    for job in (collectors(world), world.get(JOB, DRIVER)):
        assert job["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "spot"}
    assert world.plan().actions == ()


def test_its_start_is_late_when_it_is_late() -> None:
    world = World(WITHOUT_RAY)
    world.carry_out()
    world.seconds = 700
    assert told(world.look(later(700)), "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")
