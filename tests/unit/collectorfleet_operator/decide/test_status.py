"""The operator's part of a fleet's status."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, NOON, World, condition, later, running, started, told

from collectorfleet_api.v1alpha1 import CodeStatus, ConditionType, Phase
from collectorfleet_operator.children.driver_job import JOB


def test_every_condition_is_there_from_the_first_look() -> None:
    world = World()
    world.carry_out()
    seen = world.look()
    # Admitted is only a queued fleet's, and CollectorsJobReady only one's without Ray.
    others = (ConditionType.ADMITTED, ConditionType.COLLECTORS_JOB_READY)
    assert [one.type for one in seen.conditions] == [one for one in ConditionType if one not in others]
    assert {one.observed_generation for one in seen.conditions} == {1}
    assert seen.observed_generation == 1
    assert seen.phase is Phase.PENDING
    assert told(seen, "Ready")[:2] == ("False", "HeadPending")
    assert told(seen, "Reconciling")[:2] == ("True", "HeadPending")
    assert told(seen, "Stalled")[:2] == ("False", "Progressing")


def test_a_fleet_has_not_failed_while_its_driver_is_still_tried() -> None:
    """A quota on pods, for example, lets the Job make none."""
    world = World()
    world.carry_out()
    world.seconds = 600
    seen = world.look(world.now)
    assert told(seen, "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")
    assert seen.phase is Phase.PENDING


def test_a_driver_that_starts_after_another_one_makes_the_fleet_start_and_not_degraded() -> None:
    world = running({"spec.updateStrategy": {"type": "RollingUpdate"}, "spec.driver.checkpoint": {"claimName": "runs"}})
    assert world.look().phase is Phase.COLLECTING
    world.wait_until(60)
    world.edit({"spec.driver.checkpoint": {"claimName": "runs"}, "spec.policy": {"factory": "my_policy:other"}})
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert world.look(world.now).phase is Phase.STARTING
    world.carry_out()
    world.make_pods()
    world.run_pods("driver")
    assert world.look(world.now).phase is Phase.STARTING
    # The first report of the driver has the batches of the run, and no batch of this driver.
    world.renew_lease()
    world.report(0, at=world.now, last_batch=NOON, driverIncarnation=2)
    assert world.look(world.now).phase is Phase.STARTING
    world.report(0, at=later(70), last_batch=later(65), driverIncarnation=2)
    assert world.look(later(70)).phase is Phase.DEGRADED
    world.report(4, at=later(70), last_batch=later(65), driverIncarnation=2)
    assert world.look(later(70)).phase is Phase.COLLECTING


def test_gpus_that_no_collector_uses_are_told() -> None:
    world = World({"spec.collectors": {"replicas": 5, "resources": {"gpu": 0.25}}})
    world.carry_out()
    cluster = world.look().ray_cluster
    assert cluster is not None
    assert cluster.worker_pods is not None
    assert (cluster.worker_pods.desired, cluster.gpu_per_collector, cluster.surplus_gpu) == (2, 0.25, 0.75)


def test_times_change_only_with_the_status_of_a_condition() -> None:
    world = started()
    first = world.look(NOON)
    world.run_pods("head", "worker")
    second = world.look(later(30))
    assert condition(second, "RayClusterReady").last_transition_time == later(30)
    assert condition(second, "Ready").last_transition_time == NOON
    assert condition(first, "Ready").message != condition(second, "Ready").message


def test_looking_again_changes_nothing() -> None:
    world = running()
    assert world.look(NOON) == world.look(later(300))


TREES = [
    pytest.param({"archive": {"configMap": "tree", "sha256": "a" * 64}}, f"sha256:{'a' * 64}", id="archive"),
    pytest.param(
        {"git": {"repository": "https://example.com/lab.git", "commit": "a" * 40}}, f"git:{'a' * 40}", id="git"
    ),
    pytest.param({"artifact": {"reference": f"ghcr.io/me/lab@sha256:{'a' * 64}"}}, f"sha256:{'a' * 64}", id="artifact"),
]


@pytest.mark.parametrize(("tree", "digest"), TREES)
def test_the_tree_that_pods_run_is_told_by_its_digest_and_stays_told(tree: dict[str, Any], digest: str) -> None:
    world = started({"spec.code": tree})
    assert world.look().code is None
    (head,), (driver,) = world.pods("head"), world.pods("driver")
    world.end_code(head, 0, f"{digest}\n")
    assert world.look().code == CodeStatus(digest=digest)
    world.collect(head, driver)
    assert world.look().code == CodeStatus(digest=digest)


@pytest.mark.parametrize(("tree", "digest"), TREES)
def test_the_digest_of_an_earlier_tree_is_not_told_while_another_one_is_fetched(
    tree: dict[str, Any], digest: str
) -> None:
    world = World({"spec.code": tree})
    world.carry_out()
    world.make_pods()
    for pod in world.all_pods():
        world.end_code(pod, 0, f"{digest}\n")
    assert world.look().code == CodeStatus(digest=digest)
    world.edit({"spec.code": {"archive": {"configMap": "tree", "sha256": "b" * 64}}})
    assert world.look().code == CodeStatus(digest=digest)
    world.collect(*world.all_pods(), world.get(JOB, DRIVER))
    assert world.look().code is None


def test_the_digest_is_of_the_driver_if_a_new_one_runs_another_tree_than_the_head() -> None:
    world = World({"spec.code": {"archive": {"configMap": "tree", "sha256": "b" * 64}}})
    world.carry_out()
    world.make_pods()
    (head,), (driver,) = world.pods("head"), world.pods("driver")
    world.end_code(head, 0, f"sha256:{'a' * 64}\n")
    world.end_code(driver, 0, f"sha256:{'b' * 64}\n")
    assert world.look().code == CodeStatus(digest=f"sha256:{'b' * 64}")


def test_a_failure_to_fetch_a_tree_is_told_of_the_pod_that_failed_whatever_another_one_fetched() -> None:
    world = World({"spec.code": {"archive": {"configMap": "tree", "sha256": "a" * 64}}})
    world.carry_out()
    world.make_pods()
    (head,), (driver,) = world.pods("head"), world.pods("driver")
    world.end_code(head, 0, f"sha256:{'a' * 64}\n")
    world.end_code(driver, 1, "https://example.com: connection refused")
    seen = world.look()
    assert "connection refused" in condition(seen, "DriverRunning").message
    assert "connection refused" not in condition(seen, "RayClusterReady").message
    assert "connection refused" in condition(seen, "Ready").message


def test_without_a_tree_there_is_no_digest() -> None:
    assert started().look().code is None
