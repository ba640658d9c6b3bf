"""A fleet with evaluators: it collects without them, and replaces what it loses of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import EVALUATION, LEARNERS
from tests.unit.collectorfleet_operator.decide.queued import admit, queued, requested_pods
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, running, started, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import OperatorStatus, Reason, WorkerPods
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.group_sizes import sizes_of, worker_groups
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.actions import Delete
from collectorfleet_operator.decide.events import condition_changes
from collectorfleet_operator.decide.rolling import outdated_pods
from collectorfleet_operator.decide.situation import Refused
from collectorfleet_operator.objects import has_condition, name_of, uid_of

FLEET: dict[str, Any] = {"spec.evaluation": EVALUATION}
ROLLING: dict[str, Any] = {**FLEET, "spec.updateStrategy": {"type": "RollingUpdate"}}
RESUMED: dict[str, Any] = {**ROLLING, "spec.driver.checkpoint": {"claimName": "runs"}}
WITHOUT_GOAL = {field: value for field, value in EVALUATION.items() if field != "stopWhen"}
FITS_NOWHERE = "0/3 nodes are available: 3 Insufficient cpu."


def pools(template: str, changes: dict[str, Any] = ROLLING) -> dict[str, Any]:
    """Another template of evaluators."""
    own = {"spec": {"nodeSelector": {"pool": template}}}
    return {**changes, "spec.evaluation": {**EVALUATION, "template": own}}


def unschedulable(world: World) -> None:
    for pod in world.pods("evaluator"):
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FITS_NOWHERE}
        world.set_pod(pod, phase="Pending", conditions=[scheduled])


def collecting(changes: dict[str, Any] | None = None) -> World:
    """Everything runs but the evaluator pods."""
    world = started(changes or FLEET)
    world.run_pods("head", "worker", "driver")
    world.renew_lease()
    world.report(4)
    return world


def groups(status: OperatorStatus) -> dict[str, WorkerPods]:
    assert status.ray_cluster is not None
    return {one.name: one.worker_pods for one in status.ray_cluster.groups}


def test_evaluator_pods_have_a_row_of_their_own_and_are_no_worker_pods() -> None:
    status = running(FLEET).look()
    assert status.ray_cluster is not None
    assert status.ray_cluster.worker_pods == WorkerPods(desired=4, ready=4)
    assert groups(status) == {
        "collectors": WorkerPods(desired=4, ready=4),
        "evaluators": WorkerPods(desired=2, ready=2),
    }
    assert told(status, "RayClusterReady")[::2] == (
        "True",
        "the head, 4 of 4 worker pods and 2 of 2 evaluator pods are ready",
    )
    assert status.replicas == 4
    assert status.selector == "collectorfleet.dev/fleet=cheetah,collectorfleet.dev/role=worker"


def test_a_fleet_collects_while_its_evaluators_start() -> None:
    status = collecting().look()
    assert told(status, "RayClusterReady") == (
        "False",
        "WorkersStarting",
        "the head and 4 of 4 worker pods are ready, and 0 of 2 evaluator pods",
    )
    assert told(status, "Ready")[0] == "True"
    assert told(status, "Reconciling")[0] == "False"
    assert status.phase == "Collecting"


def test_evaluators_that_fit_nowhere_are_told_with_the_cause_and_hold_up_nothing() -> None:
    world = collecting()
    unschedulable(world)
    before = collecting().look().conditions
    status = world.look()
    found = told(status, "RayClusterReady")
    assert found[:2] == ("False", "EvaluatorUnschedulable")
    assert found[2].startswith("2 of 2 evaluator pods: the pod requests ")
    assert FITS_NOWHERE in found[2]
    assert told(status, "Ready")[:2] == ("True", "Collecting")
    assert told(status, "Stalled")[0] == "False"
    assert [one.reason for one in condition_changes(before, status) if one.type == "Warning"] == [
        "EvaluatorUnschedulable"
    ]


def test_a_driver_that_waits_for_its_last_evaluation_says_why_no_evaluator_is_ready() -> None:
    world = collecting()
    unschedulable(world)
    world.report(4, evaluation={"replicas": 2, "available": 0, "skipped": 2, "awaitedVersion": 3})
    status = world.look()
    why = told(status, "RayClusterReady")[2]
    text = (
        "collection has ended, and the driver waits for the evaluation of the last version, 3; no evaluator is ready: "
        f"{why}; the driver waits at most 300 s for an evaluator (collectors.firstRequestTimeoutSeconds)"
    )
    assert told(status, "Ready") == ("True", "Collecting", text)
    assert FITS_NOWHERE in told(status, "Ready")[2]
    assert told(status, "Stalled")[2].endswith("Ready says what the fleet waits for")


@pytest.mark.parametrize(
    ("evaluation", "said"),
    [
        (WITHOUT_GOAL, "; 0 of 3 due evaluations finished; "),
        (EVALUATION, "; 0 of 3 due evaluations finished, so stopWhen was not tested; "),
    ],
    ids=["no goal", "a goal"],
)
def test_a_fleet_that_completes_without_its_evaluations_says_so(evaluation: dict[str, Any], said: str) -> None:
    world = collecting({"spec.evaluation": evaluation})
    world.report(0, driverEnded=True, evaluation={"replicas": 2, "skipped": 2, "awaitedVersion": 3})
    world.end_driver(0)
    assert said in told(world.look(), "Completed")[2]


@pytest.mark.parametrize("report", [None, 0], ids=["no report", "no collector"])
def test_evaluators_that_fit_nowhere_are_not_why_collectors_are_missing(report: int | None) -> None:
    world = started(FLEET)
    world.run_pods("head", "worker", "driver")
    world.renew_lease()
    if report is not None:
        world.report(report)
    unschedulable(world)
    status = world.look()
    assert told(status, "RayClusterReady")[1] == "EvaluatorUnschedulable"
    assert told(status, "Ready")[1:] == told(status, "CollectorsAvailable")[1:]


def test_a_refused_change_is_not_why_evaluators_are_missing() -> None:
    world = collecting()
    unschedulable(world)
    refused = Refused(RAYCLUSTER, Reason.REFUSED, "update RayCluster cheetah: quota", holds_collectors=True)
    status = world.look(refused=[refused])
    assert told(status, "RayClusterReady")[1] == "EvaluatorUnschedulable"
    assert told(status, "Stalled")[:2] == ("True", "Refused")
    assert told(status, "Ready")[0] == "True"


def test_collectors_that_fit_nowhere_are_told_before_evaluators() -> None:
    world = started(FLEET)
    world.run_pods("head", "driver")
    unschedulable(world)
    pod = world.pods("worker")[0]
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FITS_NOWHERE}
    world.set_pod(pod, phase="Pending", conditions=[scheduled])
    reason, message = told(world.look(), "RayClusterReady")[1:]
    assert reason == "CollectorUnschedulable"
    assert message.startswith("1 of 4 worker pods: ")


def test_an_image_that_evaluators_cannot_pull_is_told() -> None:
    world = collecting()
    for pod in world.pods("evaluator"):
        state = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
        world.set_pod(pod, phase="Pending", containerStatuses=[{"name": "ray-worker", "state": state}])
    assert told(world.look(), "RayClusterReady")[1:] == (
        "ImagePullBackOff",
        "2 of 2 evaluator pods: Back-off pulling image",
    )


def test_learners_are_worker_pods_beside_evaluators() -> None:
    world = started({**FLEET, "spec.learners": {**LEARNERS, "maxPolicies": 2}})
    world.run_pods("head", "worker", "evaluator")
    assert told(world.look(), "RayClusterReady")[2] == "4 of 6 worker pods are ready (learners 0 of 2)"


def test_a_lost_evaluator_pod_is_made_again_and_nothing_else_changes() -> None:
    world = running(FLEET)
    world.look()
    job = uid_of(world.get(JOB, DRIVER))
    world.collect(world.pods("evaluator")[0])
    status = world.look()
    assert told(status, "Ready")[0] == "True"
    assert status.orders is None
    assert world.plan().actions == ()
    world.make_pods()
    assert len(world.pods("evaluator")) == 2
    assert uid_of(world.get(JOB, DRIVER)) == job


def test_an_evicted_evaluator_pod_is_replaced_at_once_and_the_driver_is_asked_nothing() -> None:
    world = running(FLEET)
    pod = world.pods("evaluator")[0]
    world.store({**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-01-01T12:00:00Z"}})
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    assert sizes_of(world.get(RAYCLUSTER))["evaluators"].to_delete == (name_of(pod),)
    assert world.look().orders is None


def test_an_evaluator_on_a_lost_node_is_named_and_given_up() -> None:
    world = running(FLEET)
    pod = world.pods("evaluator")[0]
    lost = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    meta = {**pod["metadata"], "deletionTimestamp": "2026-07-01T11:59:00Z", "deletionGracePeriodSeconds": 5}
    spec = {**pod["spec"], "nodeName": "node-b"}
    world.store({**pod, "metadata": meta, "spec": spec, "status": {"phase": "Running", "conditions": [lost]}})
    status = world.look()
    assert told(status, "RayClusterReady")[1:] == ("NodeLost", f"pod {name_of(pod)} is lost with node node-b")
    assert told(status, "Ready")[0] == "True"
    gone = [one for one in world.carry_out() if isinstance(one, Delete)]
    assert [(one.name, one.force) for one in gone] == [(name_of(pod), True)]


def test_scaling_leaves_evaluator_pods_as_they_are() -> None:
    world = running(FLEET)
    world.edit({**FLEET, "spec.collectors.replicas": 2})
    world.report(2, desired=2)
    world.carry_out()
    assert {name: size.pods for name, size in sizes_of(world.get(RAYCLUSTER)).items()} == {
        "collectors": 2,
        "evaluators": 2,
    }


def test_a_changed_template_of_evaluators_replaces_them_at_once_and_the_driver_goes_on() -> None:
    world = running(ROLLING)
    job, old = uid_of(world.get(JOB, DRIVER)), {name_of(pod) for pod in world.pods("evaluator")}
    world.edit(pools("fast"))
    status = world.look()
    assert told(status, "UpToDate") == (
        "False",
        "Updating",
        "evaluator pods are about to be replaced by pods of generation 2",
    )
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    sizes = sizes_of(world.get(RAYCLUSTER))
    assert set(sizes["evaluators"].to_delete) == old
    assert sizes["collectors"].to_delete == ()
    status = world.look()
    assert status.orders is None
    assert told(status, "UpToDate")[2] == (
        "2 of 2 evaluator pods still have to be replaced by pods of the changed template"
    )
    assert told(status, "Ready")[0] == "True"
    world.make_pods()
    world.run_pods("evaluator")
    world.carry_out()
    assert world.plan().actions == ()
    assert not {name_of(pod) for pod in world.pods("evaluator")} & old
    assert told(world.look(), "UpToDate")[0] == "True"
    assert uid_of(world.get(JOB, DRIVER)) == job


def test_a_changed_template_of_workers_drains_those_and_replaces_evaluators_without_asking() -> None:
    world = running(ROLLING)
    world.edit({**ROLLING, "spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}})
    world.carry_out()
    evaluators = {name_of(pod) for pod in world.pods("evaluator")}
    sizes = sizes_of(world.get(RAYCLUSTER))
    assert (set(sizes["evaluators"].to_delete), sizes["collectors"].to_delete) == (evaluators, ())
    status = world.look()
    assert status.orders is not None
    assert len(status.orders.drain_pods) == 1
    assert not set(status.orders.drain_pods) & evaluators
    assert told(status, "UpToDate")[2] == (
        "4 of 4 worker pods and 2 of 2 evaluator pods still have to be replaced by pods of the changed template"
    )
    assert len(outdated_pods(world.seen())) == 6


def test_a_queue_has_quota_for_evaluators_and_is_told_that_pods_are_ready_without_them() -> None:
    world = queued(FLEET)
    assert requested_pods(world) == {"driver": 1, "head": 1, "workers-collectors": 4, "workers-evaluators": 2}
    admit(world)
    world.start()
    template = worker_groups(world.get(RAYCLUSTER))["evaluators"]["template"]
    assert template["spec"]["nodeSelector"] == {"pool": "spot"}
    unschedulable(world)
    text = "admitted by ClusterQueue lab with 4 worker pods and 2 evaluator pods"
    assert told(world.look(), "Admitted") == ("True", "Admitted", text)
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert has_condition(world.get(WORKLOAD), "PodsReady")
    world.edit({**FLEET, "spec.collectors.replicas": 6})
    assert "but the fleet needs 6 worker pods and 2 evaluator pods; Kueue" in told(world.look(), "Admitted")[2]


def test_a_suspended_fleet_has_no_evaluator_pods_and_a_resumed_one_has_them_again() -> None:
    world = running(FLEET)
    world.edit({**FLEET, "spec.suspend": True})
    world.look()
    world.end_driver(names.EXIT_STOPPED)
    world.carry_out()
    world.look()
    assert "Delete RayCluster" in kinds(world.carry_out())
    world.collect(*(pod for role in ("driver", "head", "worker") for pod in world.pods(role)))
    left = told(world.look(), "Suspended")
    assert left[:2] == ("False", "Suspending")
    assert left[2].startswith("2 pods (cheetah-evaluator-")
    world.collect(*world.pods("evaluator"))
    assert told(world.look(), "Suspended")[0] == "True"
    world.edit(FLEET)
    world.carry_out()
    world.make_pods()
    assert len(world.pods("evaluator")) == 2


def test_evaluator_pods_of_a_head_that_is_gone_are_made_anew() -> None:
    world = running(FLEET)
    for pod in (*world.pods("worker"), *world.pods("evaluator")):
        state = {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}}
        ready = {"type": "Ready", "status": "True"}
        containers = [{"name": "ray-worker", "ready": True, "state": state}]
        world.set_pod(pod, phase="Running", conditions=[ready], containerStatuses=containers)
    world.collect(*world.pods("head"), *world.pods("driver"))
    world.seconds = 60
    world.make_pods()
    gone = {one.name for one in world.plan().actions if isinstance(one, Delete)}
    assert gone == {name_of(pod) for pod in (*world.pods("worker"), *world.pods("evaluator"))}


@pytest.mark.parametrize(
    "evaluation",
    [
        pytest.param({**EVALUATION, "replicas": 3}, id="their number"),
        pytest.param({**EVALUATION, "resources": {"cpu": 4}}, id="their size"),
    ],
)
def test_more_or_larger_evaluators_start_the_driver_anew_on_a_new_cluster(evaluation: dict[str, Any]) -> None:
    world = running(RESUMED)
    world.edit({**RESUMED, "spec.evaluation": evaluation})
    end(world)
    assert kinds(world.carry_out()) == ["Delete RayCluster"]


def test_another_number_of_episodes_starts_the_driver_anew_beside_the_same_evaluators() -> None:
    world = running(RESUMED)
    world.edit({**RESUMED, "spec.evaluation": {**EVALUATION, "episodes": 40}})
    end(world)
    assert kinds(world.carry_out()) == ["Create Job"]


def test_an_evaluation_that_is_added_starts_the_driver_anew() -> None:
    without = {key: value for key, value in RESUMED.items() if key != "spec.evaluation"}
    world = running(without)
    world.edit({**without, "spec.evaluation": {}})
    end(world)
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.pods("head"), *world.pods("worker"))
    world.carry_out()
    world.make_pods()
    assert len(world.pods("evaluator")) == 1


def end(world: World) -> None:
    """The driver ends as it is asked to, and its Job and its pod are gone."""
    orders = world.look().orders
    assert orders is not None
    assert orders.stop_at_batch
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job"]
    world.collect(*world.pods("driver"))
