"""Pods that a changed worker template replaces and that collect nothing: they go first, and cost no availability."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.decide.test_rolling import ROLLING, at_most, drained, old, rolled
from tests.unit.collectorfleet_operator.world import World, kinds, later

from collectorfleet_operator.children.group_sizes import sizes_of
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.objects import Object, name_of


def crash(world: World, pod: Object) -> None:
    """Its container ends again and again."""
    last = {"exitCode": 1, "reason": "Error"}
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {
        "name": "ray-worker",
        "ready": False,
        "restartCount": 4,
        "state": state,
        "lastState": {"terminated": last},
    }
    ready = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
    world.set_pod(pod, phase="Running", conditions=[ready], containerStatuses=[status])


def half_rolled() -> tuple[World, Object]:
    """The first pod of a changed template, which crashes."""
    world = rolled(ROLLING)
    drained(world)
    world.carry_out()
    world.make_pods()
    (new,) = [pod for pod in world.pods("worker") if pod["status"]["phase"] == "Pending"]
    crash(world, new)
    return world, new


def test_a_pod_that_is_away_anyway_counts_and_goes_first() -> None:
    world = rolled(at_most(2))
    away = world.pods("worker")[3]
    crash(world, away)
    orders = world.look().orders
    assert orders is not None
    assert len(orders.drain_pods) == 2
    assert name_of(away) in orders.drain_pods


def test_a_bad_template_whose_pod_crashes_is_taken_back() -> None:
    world, new = half_rolled()
    world.edit(ROLLING)
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    assert old(world) == [name_of(new)]
    orders = world.look(world.now).orders
    assert orders is not None
    assert orders.drain_pods == [name_of(new)]
    # No collector was ever on it, so the driver never says that it left it.
    world.carry_out()
    assert sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete == (name_of(new),)
    assert world.plan().actions == ()
    world.make_pods()
    world.run_pods("worker")
    assert old(world) == []


def test_a_mended_template_first_replaces_the_pods_that_crash() -> None:
    world = rolled(ROLLING)
    crashing = [name_of(pod) for pod in world.pods("worker")[2:]]
    for pod in world.pods("worker")[2:]:
        crash(world, pod)
    orders = world.look(world.now).orders
    assert orders is not None
    # More than may be unavailable at a time, which they are already.
    assert orders.drain_pods == crashing
    world.carry_out()
    assert sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete == tuple(crashing)
    world.make_pods()
    assert len(old(world)) == 2
    assert world.look(world.now).orders is None
    world.run_pods("worker")
    orders = world.look(world.now).orders
    assert orders is not None
    assert len(orders.drain_pods) == 1


def test_a_pod_on_a_silent_node_counts_and_is_not_taken_for_one_that_collects_nothing() -> None:
    world = rolled(ROLLING)
    silent = world.pods("worker")[3]
    # Its kubelet last called it ready.
    ready = {"type": "Ready", "status": "False"}
    statuses = [{"name": "ray-worker", "ready": True, "state": {"running": {}}}]
    world.set_pod(silent, phase="Running", conditions=[ready], containerStatuses=statuses)
    assert world.look().orders is None
    assert world.plan().actions == ()
    # A gate that nobody opens is the kubelet's word, too.
    world.set_pod(
        silent,
        phase="Running",
        conditions=[{**ready, "reason": "ReadinessGatesNotReady"}],
        containerStatuses=statuses,
    )
    world.carry_out()
    assert sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete == (name_of(silent),)


def test_a_pod_that_is_unready_for_a_moment_is_not_given_to_a_template_whose_pods_crash() -> None:
    world, _ = half_rolled()
    before = old(world)
    (one, *_) = [pod for pod in world.pods("worker") if name_of(pod) in before]
    began, turned = later(10).isoformat(), later(700).isoformat()
    statuses = [{"name": "ray-worker", "ready": False, "state": {"running": {"startedAt": began}}}]

    def unready_since(time: str) -> None:
        ready = {"type": "Ready", "status": "False", "lastTransitionTime": time}
        world.set_pod(one, phase="Running", conditions=[ready], containerStatuses=statuses)

    unready_since(turned)
    world.look()
    world.carry_out()
    world.make_pods()
    assert old(world) == before
    # One that never was ready is of the other kind.
    unready_since(began)
    world.look()
    world.carry_out()
    assert name_of(one) in sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete
