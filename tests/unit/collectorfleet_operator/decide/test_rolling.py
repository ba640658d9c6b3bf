"""A changed worker template under RollingUpdate: pods are drained and replaced a few at a time, by the same driver."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, condition, kinds, running, told

from collectorfleet_api.conditions.condition import is_true
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import sizes_of
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide import rolling
from collectorfleet_operator.decide.rolling import outdated_pods
from collectorfleet_operator.objects import Object, name_of, uid_of

ROLLING = {"spec.updateStrategy": {"type": "RollingUpdate"}}
FAST = {"spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}}


def at_most(unavailable: int | str) -> dict[str, Any]:
    return {"spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable}}}


def rolled(strategy: dict[str, Any], change: dict[str, Any] = FAST) -> World:
    """A fleet whose Job and RayCluster took up a changed worker template."""
    world = running(strategy)
    world.edit({**strategy, **change})
    # In one look: nobody tells the operator of what it wrote itself.
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    assert world.plan().actions == ()
    return world


def drained(world: World) -> None:
    """The driver does what it is asked to."""
    orders = world.look(world.now).orders
    assert orders is not None
    left = 4 - len(orders.drain_pods)
    world.report(left, desired=4, drainedPods=orders.drain_pods)


def old(world: World) -> list[str]:
    return [pod.name for pod in outdated_pods(world.seen())]


def test_the_driver_goes_on_and_needs_no_checkpoint() -> None:
    world = running(ROLLING)
    job, cluster = uid_of(world.get(JOB, DRIVER)), uid_of(world.get(RAYCLUSTER))
    world.edit({**ROLLING, **FAST})
    status = world.look()
    assert told(status, "UpToDate")[:2] == ("False", "Updating")
    assert told(status, "Reconciling")[:2] == ("True", "Updating")
    assert is_true(condition(status, "Ready"))
    world.carry_out()
    assert (uid_of(world.get(JOB, DRIVER)), uid_of(world.get(RAYCLUSTER))) == (job, cluster)
    assert len(old(world)) == 4


def test_one_pod_at_a_time_is_drained_deleted_by_name_and_replaced() -> None:
    world = rolled(ROLLING)
    seen: list[str] = []
    while old(world):
        orders = world.look(world.now).orders
        assert orders is not None
        (name,) = orders.drain_pods
        # Not before the driver has left it.
        assert world.plan().actions == ()
        drained(world)
        (size,) = sizes_of(world.get(RAYCLUSTER)).values()
        assert (size.pods, size.to_delete) == (4, ())
        world.carry_out()
        (size,) = sizes_of(world.get(RAYCLUSTER)).values()
        assert (size.pods, size.to_delete) == (4, (name,))
        world.make_pods()
        # The next one waits for the new pod.
        assert world.look(world.now).orders is None
        world.run_pods("worker")
        world.report(4)
        # Its name is listed no longer than it is there.
        assert kinds(world.carry_out()) == ["Update RayCluster"]
        seen.append(name)
    assert len(set(seen)) == 4
    status = world.look(world.now)
    assert status.orders is None
    assert told(status, "UpToDate")[:2] == ("True", "UpToDate")
    assert told(status, "Reconciling")[0] == "False"


@pytest.mark.parametrize(("most", "count"), [(2, 2), (9, 4), ("50%", 2), ("1%", 1), ("100%", 4)])
def test_as_many_pods_are_away_as_the_strategy_allows(most: int | str, count: int) -> None:
    orders = rolled(at_most(most)).look().orders
    assert orders is not None
    assert len(orders.drain_pods) == count


def test_more_outdated_pods_than_orders_can_list_are_drained_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "MOST_DRAINED_PODS", 3)
    world = rolled(at_most("100%"))
    orders = world.look(world.now).orders
    assert orders is not None
    assert len(orders.drain_pods) == 3
    assert world.look(world.now).orders == orders


def test_a_bad_template_is_taken_back_while_it_is_half_rolled_out() -> None:
    world = rolled(ROLLING)
    drained(world)
    world.carry_out()
    world.make_pods()
    (new,) = [pod for pod in world.pods("worker") if pod["status"]["phase"] == "Pending"]
    assert world.look(world.now).orders is None
    assert len(old(world)) == 3
    world.edit(ROLLING)
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    # Only the new pod is of a wrong template now, and it never held anything.
    assert old(world) == [name_of(new)]
    world.carry_out()
    assert sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete == (name_of(new),)
    world.make_pods()
    assert old(world) == []


def test_a_pod_that_was_to_be_drained_is_given_back_with_the_change() -> None:
    world = rolled(ROLLING)
    assert world.look().orders is not None
    world.edit(ROLLING)
    world.carry_out()
    assert world.look().orders is None


def test_a_replacement_that_does_not_come_on_is_stalled() -> None:
    world = rolled({**ROLLING, "spec.progressDeadlineSeconds": 60})
    world.look()
    world.wait_until(59)
    assert told(world.look(world.now), "Stalled")[0] == "False"
    world.wait_until(60)
    assert told(world.look(world.now), "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")


def aged(changes: dict[str, Any]) -> World:
    """A fleet whose pods are older than a replacement may stand."""
    world = running(changes)
    world.look(world.now)
    world.wait_until(700)
    return world


def test_a_replacement_of_old_pods_that_has_just_begun_is_not_stalled() -> None:
    world = aged(ROLLING)
    world.edit({**ROLLING, **FAST})
    world.carry_out()
    status = world.look(world.now)
    assert told(status, "Reconciling")[:2] == ("True", "Updating")
    assert told(status, "Stalled")[0] == "False"
    assert status.orders is not None
    world.seconds += 599
    world.renew_lease()
    assert told(world.look(world.now), "Stalled")[0] == "False"
    world.seconds += 1
    world.renew_lease()
    assert told(world.look(world.now), "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")


def test_a_change_that_was_held_for_long_has_just_begun_when_its_strategy_lets_it() -> None:
    world = aged({})
    world.edit(FAST)
    world.look(world.now)
    world.seconds += 700
    world.renew_lease()
    world.edit({**ROLLING, **FAST})
    world.carry_out()
    assert told(world.look(world.now), "Stalled")[0] == "False"


def test_a_replacement_that_waits_for_a_pod_that_is_away_has_begun_when_it_was_asked_for() -> None:
    world = aged(ROLLING)
    world.collect(world.pods("worker")[3])
    world.edit({**ROLLING, **FAST})
    world.carry_out()
    status = world.look(world.now)
    assert (told(status, "Stalled")[0], status.orders) == ("False", None)
    world.seconds += 600
    world.renew_lease()
    assert told(world.look(world.now), "Stalled")[0] == "True"


def test_pods_of_a_fleet_without_a_driver_are_replaced_at_once() -> None:
    world = rolled(at_most("100%"))
    world.set_pod(world.pods("driver")[0], phase="Pending")
    world.carry_out()
    assert len(sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete) == 4


def test_a_driver_that_starts_again_goes_on_with_the_changed_pods() -> None:
    world = rolled(ROLLING)
    assert not world.seen().spec_is_held
    running_spec = world.seen().running
    assert running_spec is not None
    assert running_spec.spec.workers.template == FAST["spec.workers.template"]
    # Pods that an earlier release made have no label, and are of their template for as long as nobody changes it.
    for pod in world.pods("worker"):
        pod["metadata"]["labels"].pop("collectorfleet.dev/template")
        world.store(pod)
    assert len(old(world)) == 4


def deleted(world: World, pod: Object) -> Object:
    """What an eviction does: the pod has its grace."""
    meta = {"deletionTimestamp": "2026-08-01T12:00:30Z", "deletionGracePeriodSeconds": 30}
    return world.store({**pod, "metadata": {**pod["metadata"], **meta}})


def test_a_pod_that_is_evicted_is_left_by_the_driver_and_replaced_at_once() -> None:
    world = running()
    one, other = (name_of(deleted(world, pod)) for pod in world.pods("worker")[:2])
    status = world.look()
    assert status.orders is not None
    # Both, whatever updateStrategy allows at a time: they go anyway.
    assert status.orders.drain_pods == sorted([one, other])
    message = told(status, "RayClusterReady")[2]
    assert message.startswith(
        f"2 of 4 worker pods are ready; being deleted: {one}, {other}; KubeRay has created 2 of the worker pods"
    )
    (action,) = world.carry_out()
    assert action.why == f"RayCluster cheetah: other pods replace {', '.join(sorted([one, other]))}"
    (size,) = sizes_of(world.get(RAYCLUSTER)).values()
    assert (size.pods, size.to_delete) == (4, tuple(sorted([one, other])))
    # The order stands while the pods are there, also once they are empty.
    drained(world)
    assert world.look().orders == status.orders
    world.make_pods()
    assert world.look().orders is None
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert sizes_of(world.get(RAYCLUSTER))["collectors"].to_delete == ()


def test_a_fleet_that_gets_smaller_while_a_pod_is_evicted_loses_no_other_pod() -> None:
    world = running()
    name = name_of(deleted(world, world.pods("worker")[0]))
    world.edit({"spec.collectors.replicas": 3})
    world.report(3, desired=3, drainedPods=[name])
    # The driver has left it already.
    assert world.look().orders is None
    world.carry_out()
    (size,) = sizes_of(world.get(RAYCLUSTER)).values()
    assert (size.pods, size.to_delete) == (3, (name,))
