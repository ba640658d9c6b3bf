"""Nodes that are lost: what hangs on them is given up, told by name, and made again elsewhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, later, running, told, wire_time

from collectorfleet_api import names
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.objects import Object, annotation, name_of, uid_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}


def evict(world: World, pod: Object, *, grace: int) -> Object:
    """What Kubernetes does to a pod on a lost node: it marks it, and waits for a kubelet that says nothing."""
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    pod["metadata"] |= {
        "deletionTimestamp": wire_time(later(world.seconds + grace)),
        "deletionGracePeriodSeconds": grace,
    }
    pod["spec"] = {**pod["spec"], "nodeName": "node2"}
    pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}, mark]}
    return world.store(pod)


def test_a_worker_on_a_lost_node_is_given_up_after_its_grace_and_told_by_name() -> None:
    world = running()
    worker = evict(world, world.pods("worker")[0], grace=5)
    world.renew_lease()
    status, reason, message = told(world.look(), "RayClusterReady")
    assert (status, reason) == ("False", "NodeLost")
    assert message == f"pod {name_of(worker)} is lost with node node2"
    # Another one is made at once, and nobody is asked to leave what is lost.
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert world.look().orders is None
    assert world.plan().actions == ()
    assert world.plan().again_after == timedelta(seconds=10)
    world.seconds = 10
    (gone,) = world.carry_out()
    assert isinstance(gone, Delete)
    assert (gone.name, gone.uid, gone.force) == (name_of(worker), uid_of(worker), True)
    assert gone.why == f"Pod {name_of(worker)}: node node2 is lost"


def test_a_pod_that_somebody_else_deletes_is_left_to_its_kubelet() -> None:
    world = running()
    worker = evict(world, world.pods("worker")[0], grace=5)
    worker["status"]["conditions"] = []
    world.store(worker)
    world.wait_until(30)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert world.plan().actions == ()


def test_a_driver_on_a_lost_node_starts_on_another_one_as_it_ran() -> None:
    world = running({"spec.driver.checkpoint": {"claimName": "runs"}})
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", "spec.driver.checkpoint": {"claimName": "runs"}})
    before = world.get(JOB, DRIVER)
    world.seconds = 80
    # Its Lease is quiet by now, so its grace is nothing to wait for.
    pod = evict(world, world.pods("driver")[0], grace=30)
    status = world.look(world.now)
    assert told(status, "DriverRunning") == (
        *("False", "NodeLost"),
        f"driver pod {name_of(pod)} is lost with node node2; the next driver pod starts on another node",
    )
    assert kinds(world.carry_out()) == ["Delete Job", "Delete Pod", "Create Job"]
    again = world.get(JOB, DRIVER)
    assert uid_of(again) != uid_of(before)
    # The changed spec is held as it was.
    assert again["spec"]["template"]["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:1.0"
    assert annotation(again, "collectorfleet.dev/generation") == "1"
    assert told(world.look(world.now), "UpToDate")[1] == "RestartNeeded"
    driver = world.look(world.now).driver
    assert driver is not None
    assert driver.restarts == 1


def kept(world: World, pod: Object) -> Object:
    """Somebody else's finalizer keeps the pod however it is deleted."""
    pod["metadata"]["finalizers"] = ["example.com/keep"]
    return world.store(pod)


def test_a_pod_that_a_finalizer_keeps_once_it_is_given_up_keeps_the_fleet_from_nothing() -> None:
    world = running()
    worker = kept(world, evict(world, world.pods("worker")[0], grace=5))
    world.wait_until(10)
    assert kinds(world.carry_out()) == ["Delete Pod"]
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert name_of(worker) in map(name_of, world.pods("worker"))
    assert world.plan().actions == ()
    world.edit({"spec.collectors.replicas": 6})
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    world.complete()
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


@pytest.mark.parametrize("grace", [30, 0], ids=["given up by us", "deleted by force by somebody else"])
def test_a_driver_pod_that_a_finalizer_keeps_is_started_on_another_node_once(grace: int) -> None:
    world = running(CHECKPOINT)
    world.seconds = 80
    # Without its grace the Job controller waits for it all the same.
    pod = kept(world, evict(world, world.pods("driver")[0], grace=grace))
    assert kinds(world.carry_out()) == ["Delete Job", "Delete Pod", "Create Job"]
    assert name_of(pod) in map(name_of, world.pods("driver"))
    assert world.plan().actions == ()


def test_a_driver_that_still_renews_its_lease_gets_its_grace() -> None:
    world = running()
    evict(world, world.pods("driver")[0], grace=30)
    world.wait_until(34)
    assert world.plan().actions == ()
    world.wait_until(35)
    assert kinds(world.plan().actions) == ["Delete Job", "Delete Pod", "Create Job"]


@pytest.mark.parametrize("role", ["head", "worker"])
def test_a_node_that_falls_silent_is_named_before_kubernetes_gives_it_up(role: str) -> None:
    world = running()
    pod = world.pods(role)[0]
    pod["spec"] = {**pod["spec"], "nodeName": "node2"}
    statuses = [{"name": f"ray-{role}", "ready": True, "state": {"running": {}}}]
    pod["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": statuses,
    }
    world.store(pod)
    assert told(world.look(), "RayClusterReady")[1:] == (
        "NodeLost",
        f"pod {name_of(pod)} cannot be reached, because node node2 does not answer",
    )


def silent(world: World, pod: Object) -> None:
    """Its kubelet has said nothing for so long that Kubernetes calls the pod unready, from this moment on."""
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": wire_time(world.now)}
    statuses = [{"name": "ray-worker", "ready": True, "state": {"running": {}}}]
    pod["spec"] = {**pod["spec"], "nodeName": "node2"}
    pod["status"] = {"phase": "Running", "conditions": [ready], "containerStatuses": statuses}
    world.store(pod)


def rows(world: World) -> list[Object]:
    states = [{"name": f"c{i}", "state": "Ready", "pod": name_of(pod)} for i, pod in enumerate(world.pods("worker"))]
    return [{**row, "restarts": 0, "batches": 1, "frames": 100} for row in states]


def test_a_collector_on_a_silent_node_is_not_available_unless_batches_come() -> None:
    world = running({"spec.collectors.replicas": 2, "spec.collectors.minAvailable": 2})
    world.report(2, collectors=rows(world))
    world.seconds = 50
    silent(world, world.pods("worker")[1])
    world.renew_lease()
    status = world.look(world.now)
    have = "1 of 2 collectors run acknowledged weights; minAvailable is 2"
    because = "node node2 does not answer (1 of 2 collectors: c1)"
    assert told(status, "CollectorsAvailable") == ("False", "BelowMinAvailable", f"{have}; {because}")
    assert told(status, "Ready")[:2] == ("False", "NodeLost")
    assert status.replicas == 1
    # It is the kubelet alone that is away.
    world.report(2, at=later(51), collectors=rows(world))
    assert told(world.look(world.now), "Ready")[0] == "True"
    # Until it is marked, and long after, if nothing is delivered.
    world.report(2, collectors=rows(world))
    pod = world.pods("worker")[1]
    pod["metadata"]["deletionTimestamp"] = wire_time(later(200))
    world.store(pod)
    assert told(world.look(world.now), "CollectorsAvailable")[1] == "BelowMinAvailable"


def test_what_hangs_on_a_lost_node_keeps_no_fleet_from_being_suspended() -> None:
    world = running()
    world.edit({"spec.suspend": True})
    world.seconds = 80
    evict(world, world.pods("driver")[0], grace=30)
    assert kinds(world.carry_out()) == ["Delete Job", "Delete Pod"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


def test_a_suspended_fleet_is_looked_at_when_what_hangs_is_given_up() -> None:
    world = running()
    world.edit({"spec.suspend": True})
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    evict(world, world.pods("worker")[0], grace=5)
    assert world.plan().again_after == timedelta(seconds=10)


@pytest.mark.parametrize("how", ["being deleted", "gone"])
def test_a_driver_whose_head_goes_is_asked_for_its_checkpoint_while_ray_still_answers(how: str) -> None:
    world = running(CHECKPOINT)
    (head,) = world.pods("head")
    head["metadata"] |= {"deletionTimestamp": wire_time(later(5)), "deletionGracePeriodSeconds": 5}
    world.store(head)
    if how == "gone":
        world.collect(head)
    orders = world.look().orders
    assert orders is not None
    assert orders.stop_at_batch
    # Another head is not its own: it ends all the same.
    world.collect(head)
    world.make_pods()
    (another,) = world.pods("head")
    another["metadata"]["creationTimestamp"] = wire_time(later(6))
    world.store(another)
    assert world.look(later(6)).orders == orders
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]


@pytest.mark.parametrize("seen_first", ["its container", "its pod"])
@pytest.mark.parametrize(
    "strategy", [{}, {"spec.updateStrategy": {"type": "RollingUpdate"}}], ids=["OnDelete", "rolled"]
)
def test_a_head_that_goes_carries_out_no_spec_that_is_held(strategy: dict[str, Any], seen_first: str) -> None:
    world = running(CHECKPOINT)
    # Elsewhere a changed spec would not find what the driver keeps.
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", "spec.driver.checkpoint": {"claimName": "other"}, **strategy})
    world.collect(*world.pods("head"))
    world.look()
    world.make_pods()
    world.end_driver(names.EXIT_STOPPED)
    if seen_first == "its container":
        (pod,) = world.pods("driver")
        world.set_pod(pod, **{**pod["status"], "phase": "Running"})
    job = {**world.get(JOB, DRIVER), "status": {"failed": 2}}
    world.store(job)
    assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]
    again = world.get(JOB, DRIVER)
    assert again["spec"]["template"]["spec"]["containers"][0]["image"] == "ghcr.io/you/cheetah:1.0"
    status = world.look()
    assert told(status, "UpToDate")[1] in ("RestartNeeded", "CheckpointNeeded")
    # The one that ended because it was asked to is none.
    assert status.driver is not None
    assert status.driver.restarts == 1
    assert world.plan().actions == ()


def test_a_driver_that_waits_for_the_next_head_is_not_asked_to_end_for_the_last_one() -> None:
    world = running(CHECKPOINT)
    world.collect(*world.pods("head"))
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    # What an earlier driver says last, and the next one first.
    world.report(0)
    world.carry_out()
    world.collect(*world.pods("driver"))
    world.make_pods()
    world.run_pods("driver")
    world.collect(*world.pods("head"))
    world.renew_lease()
    assert world.look().orders is None
    assert world.plan().actions == ()


def test_a_driver_that_was_suspended_for_a_moment_starts_with_the_stored_spec() -> None:
    world = running(CHECKPOINT)
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", "spec.suspend": True, **CHECKPOINT})
    world.look(later(1))
    world.edit({"spec.image": "ghcr.io/you/cheetah:2.0", **CHECKPOINT})
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job"]


def test_without_a_checkpoint_a_driver_whose_head_goes_works_on_as_long_as_it_can() -> None:
    world = running()
    world.collect(*world.pods("head"))
    assert world.look().orders is None


def ray_began(world: World, pod: Object, seconds: float) -> None:
    """Let the pod be as old as the first head, and its container have begun then."""
    state = {"running": {"startedAt": wire_time(later(seconds))}}
    world.set_pod(
        pod,
        phase="Running",
        conditions=[{"type": "Ready", "status": "True"}],
        containerStatuses=[{"name": "ray-worker", "ready": True, "state": state}],
    )


def test_worker_pods_whose_head_is_gone_are_replaced_once_the_driver_has_ended() -> None:
    world = running({"spec.collectors.replicas": 2, **CHECKPOINT})
    for pod in world.pods("worker"):
        ray_began(world, pod, 5)
    world.wait_until(80)
    world.collect(*world.pods("head"))
    world.look()
    world.make_pods()
    # Its collectors answer it, and it ends in order: learners may still be in its checkpoint when collectors are gone.
    assert world.plan().actions == ()
    world.report(0, at=world.now)
    assert world.plan().actions == ()
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job", "Create Job"]
    behind = {name_of(pod) for pod in world.pods("worker")}
    gone = world.carry_out()
    assert {(one.name, one.grace_seconds) for one in gone if isinstance(one, Delete)} == {(name, 1) for name in behind}
    assert all("it belongs to a Ray head that no longer exists" in one.why for one in gone)
    # Those that are made now are of this head, and one whose Ray began again has found it.
    world.make_pods()
    assert world.plan().actions == ()


def test_a_worker_whose_ray_began_again_beside_the_next_head_stays() -> None:
    world = running(CHECKPOINT)
    world.seconds = 80
    world.collect(*world.pods("head"))
    world.make_pods()
    for pod in world.pods("worker"):
        ray_began(world, pod, 90)
    world.report(0, at=world.now)
    world.renew_lease()
    assert world.plan().actions == ()


def test_a_head_on_a_lost_node_is_given_up_with_its_driver_in_one_look() -> None:
    """The next driver would find that head, whose process outlives a kubelet that stops."""
    world = running(CHECKPOINT)
    head = evict(world, world.pods("head")[0], grace=5)
    world.renew_lease()
    assert world.look().orders is not None
    world.report(0)
    assert world.plan().actions == ()
    world.end_driver(names.EXIT_STOPPED)
    gone = world.carry_out()
    assert kinds(gone) == ["Delete Pod", "Delete Job", "Create Job"]
    assert isinstance(gone[0], Delete)
    assert gone[0].name == name_of(head)
