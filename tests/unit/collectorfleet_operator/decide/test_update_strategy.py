"""What a changed spec does to a fleet that has delivered a batch: every row of the table, for both strategies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.manifests import ABSENT
from tests.unit.collectorfleet_operator.decide.test_lost_nodes import evict
from tests.unit.collectorfleet_operator.world import DRIVER, World, condition, kinds, later, running, started, told

from collectorfleet_api import names
from collectorfleet_api.conditions.condition import is_true
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.objects import uid_of

ROLLING = {"spec.updateStrategy": {"type": "RollingUpdate"}}
CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}
ROLLED = {**ROLLING, **CHECKPOINT}
OUTPUT = {"spec.driver.train": ABSENT, "spec.output": {"path": "/data"}}

DRIVER_ONLY = {
    "environment": {"spec.environment": {"factory": "my_envs:other"}},
    "policy": {"spec.policy": {"factory": "my_policy:other"}},
    "driver": {"spec.driver.resources": {"cpu": 2}},
    "collection": {"spec.collection.framesPerBatch": 8000},
    "weights": {"spec.weights.dtype": "BFloat16"},
}
WITH_THE_CLUSTER = {
    "image": {"spec.image": "ghcr.io/you/cheetah:1.1"},
    "code": {"spec.code": {"configMap": "code-2"}},
    "ray": {"spec.ray.version": "2.55.0"},
    "collectors.resources": {"spec.collectors.resources": {"cpu": 2}},
    "workers.collectorsPerPod": {"spec.workers.collectorsPerPod": 2},
}
WORKERS_ONLY = {"workers.template": {"spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}}}
FOLLOWED = {
    "collectors.replicas": {"spec.collectors.replicas": 6},
    "collectors.minAvailable": {"spec.collectors.minAvailable": 2},
    "progressDeadlineSeconds": {"spec.progressDeadlineSeconds": 60},
}


def test_a_held_edit_stays_held_when_only_the_pod_of_the_driver_is_lost() -> None:
    world = running()
    world.look()
    world.edit({"spec.policy": {"factory": "my_policy:other"}})
    assert told(world.look(), "UpToDate")[1] == "RestartNeeded"
    world.wait_until(60)
    world.replace_driver_pod()
    # The new driver keeps the time of the last batch until it delivers a batch.
    progress = {**world.get(FLEET)["status"]["progress"], "batches": 0, "framesDelivered": 0}
    world.report(0, driverIncarnation=2, progress=progress)
    assert kinds(world.plan().actions) == []
    assert told(world.look(), "UpToDate")[1] == "RestartNeeded"
    # Whoever deletes the Job has the edit.
    world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
    assert "Create Job" in kinds(world.carry_out())
    policy = world.seen().present.spec.policy
    assert policy is not None
    assert policy.factory == "my_policy:other"


def test_a_held_edit_stays_held_when_the_node_of_the_driver_is_lost() -> None:
    """The operator then makes the Job anew, and the next driver has delivered no batch."""
    world = running()
    world.edit({"spec.policy": {"factory": "my_policy:other"}})
    for seconds in (80, 160):
        world.seconds = seconds
        evict(world, world.pods("driver")[0], grace=30)
        assert "Create Job" in kinds(world.carry_out())
        world.make_pods()
        world.run_pods("driver")
        progress = {**world.get(FLEET)["status"]["progress"], "batches": 0, "framesDelivered": 0}
        world.report(0, driverIncarnation=2, progress=progress)
        world.renew_lease()
        assert kinds(world.plan().actions) == []
        assert told(world.look(world.now), "UpToDate")[1] == "RestartNeeded"


def changed(strategy: dict[str, Any], changes: dict[str, Any]) -> World:
    """A fleet that runs, whose spec was changed since."""
    world = running(strategy)
    world.edit({**strategy, **changes})
    return world


HELD = DRIVER_ONLY | WITH_THE_CLUSTER | WORKERS_ONLY


@pytest.mark.parametrize("changes", HELD.values(), ids=HELD)
def test_on_delete_a_changed_spec_waits_and_says_so(changes: dict[str, Any]) -> None:
    world = changed({}, changes)
    status = world.look()
    assert world.plan().actions == ()
    assert status.orders is None
    assert told(status, "UpToDate")[:2] == ("False", "RestartNeeded")
    assert told(status, "Reconciling")[0] == "False"
    assert is_true(condition(status, "Ready"))
    assert status.observed_generation == 2


@pytest.mark.parametrize("changes", FOLLOWED.values(), ids=FOLLOWED)
@pytest.mark.parametrize("strategy", [{}, ROLLED], ids=["OnDelete", "RollingUpdate"])
def test_what_is_followed_needs_no_other_driver(strategy: dict[str, Any], changes: dict[str, Any]) -> None:
    status = changed(strategy, changes).look()
    assert status.orders is None
    assert told(status, "UpToDate")[:2] == ("True", "UpToDate")


@pytest.mark.parametrize("changes", DRIVER_ONLY.values(), ids=DRIVER_ONLY)
def test_what_only_the_driver_sees_is_rolled_out_on_the_same_raycluster(changes: dict[str, Any]) -> None:
    world = changed(ROLLED, changes)
    cluster = uid_of(world.get(RAYCLUSTER))
    status = world.look()
    assert status.orders is not None
    assert told(status, "UpToDate")[:2] == ("False", "Updating")
    assert told(status, "Reconciling")[:2] == ("True", "Updating")
    assert is_true(condition(status, "Ready"))
    assert world.plan().actions == ()
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.pods("driver"))
    assert kinds(world.carry_out()) == ["Create Job"]
    assert uid_of(world.get(RAYCLUSTER)) == cluster
    assert told(world.look(), "UpToDate")[:2] == ("True", "UpToDate")


@pytest.mark.parametrize("changes", WITH_THE_CLUSTER.values(), ids=WITH_THE_CLUSTER)
def test_what_other_pods_see_makes_the_raycluster_anew(changes: dict[str, Any]) -> None:
    world = changed(ROLLED, changes)
    world.look()
    assert world.plan().actions == ()
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    assert {"Create RayCluster", "Create Job"} <= set(kinds(world.carry_out()))


def test_a_rolled_driver_is_asked_to_end_only_where_the_next_one_can_go_on() -> None:
    change = DRIVER_ONLY["environment"]
    elsewhere = {"spec.driver.checkpoint": {"claimName": "elsewhere"}}
    for runs, stored, why in (
        (ROLLING, ROLLING, "the spec that runs has no driver.checkpoint"),
        (ROLLED, ROLLING, "the changed spec has no driver.checkpoint"),
        (ROLLED, {**ROLLED, **elsewhere}, "another claim or folder (driver.checkpoint, output.path)"),
        ({**ROLLING, **OUTPUT}, {**ROLLING, **OUTPUT, "spec.output": {"path": "/other"}}, "another claim or folder"),
    ):
        world = running(runs)
        world.edit({**stored, **change})
        status = world.look()
        assert status.orders is None
        assert world.plan().actions == ()
        told_, reason, text = told(status, "UpToDate")
        assert (told_, reason) == ("False", "CheckpointNeeded")
        assert why in text
        assert told(status, "Reconciling")[0] == "False"
        assert is_true(condition(status, "Ready"))


def test_a_checkpoint_that_cannot_be_written_holds_a_changed_spec() -> None:
    world = changed(ROLLED, DRIVER_ONLY["environment"])
    world.report(4, checkpoint={"frames": 8000, "failure": "No space left on device"})
    assert "No space left on device" in told(world.look(), "UpToDate")[2]


def test_a_fleet_that_only_collects_goes_on_after_its_output_and_needs_no_checkpoint() -> None:
    world = running({**ROLLING, **OUTPUT})
    world.edit({**ROLLING, **OUTPUT, **DRIVER_ONLY["environment"]})
    assert world.look().orders is not None


def test_a_fleet_without_a_batch_takes_a_changed_spec_at_once() -> None:
    world = running(ROLLING)
    world.report(4, progress={"batches": 0})
    world.edit({**ROLLING, **DRIVER_ONLY["environment"]})
    assert kinds(world.carry_out()) == ["Delete Job"]


def test_a_change_that_is_half_rolled_out_and_cannot_start_is_taken_back_at_once() -> None:
    world = changed(ROLLED, WITH_THE_CLUSTER["image"])
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    world.carry_out()
    world.collect(*world.all_pods())
    world.carry_out()
    world.make_pods()
    world.hold_up("driver", "ImagePullBackOff", "no such image")
    world.edit(ROLLED)
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.all_pods())
    assert {"Create RayCluster", "Create Job"} <= set(kinds(world.carry_out()))


def test_a_change_that_is_taken_back_before_the_driver_has_ended_is_forgotten() -> None:
    world = changed(ROLLED, DRIVER_ONLY["policy"])
    assert world.look(later(1)).orders is not None
    world.edit(ROLLED)
    assert world.look().orders is None
    assert world.plan().actions == ()


def test_a_driver_whose_batch_takes_long_is_waited_for_and_told_of() -> None:
    world = changed({**ROLLED, "spec.progressDeadlineSeconds": 60}, {"spec.environment.factory": "my_envs:other"})
    world.look()
    world.wait_until(30)
    assert world.plan().again_after == timedelta(seconds=30)
    assert told(world.look(world.now), "Stalled")[0] == "False"
    world.wait_until(60)
    status = world.look(world.now)
    assert world.plan().actions == ()
    assert told(status, "Reconciling")[0] == "False"
    assert told(status, "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")
    assert "has not ended within 60 s (spec.progressDeadlineSeconds)" in told(status, "Stalled")[2]


def test_a_start_without_a_batch_is_stalled_after_its_deadline_and_goes_on() -> None:
    world = started()
    world.hold_up("worker", "ImagePullBackOff", "no such image")
    assert world.plan().again_after == timedelta(seconds=600)
    assert told(world.look(later(599)), "Stalled")[0] == "False"
    status = world.look(later(600))
    assert told(status, "Stalled")[:2] == ("True", "ProgressDeadlineExceeded")
    assert "no batch within 600 s" in told(status, "Stalled")[2]
    assert "no such image" in told(status, "Stalled")[2]
    assert told(status, "Reconciling")[0] == "False"
    world.run_pods("head", "worker", "driver")
    world.renew_lease()
    world.report(4, progress={"batches": 1, "lastBatchTime": "2026-07-01T12:10:01Z"})
    assert told(world.look(later(602)), "Stalled")[0] == "False"
