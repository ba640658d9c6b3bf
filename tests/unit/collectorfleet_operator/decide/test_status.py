"""What a fleet's status says, in every stage of its life."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, NOON, World, condition, later, told

from collectorfleet_api.v1alpha1 import ConditionStatus, Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.decide.deadlines import LOST_AFTER
from collectorfleet_operator.decide.observed import Refused, Warned
from collectorfleet_operator.objects import name_of, uid_of

CONDITIONS = [
    *("Ready", "Reconciling", "Stalled", "RayClusterReady", "DriverRunning"),
    *("CollectorsAvailable", "WeightsFresh", "Completed"),
]


def started() -> World:
    """All children and pods are made, none runs."""
    world = World()
    world.carry_out()
    world.make_pods()
    return world


def running(changes: dict[str, Any] | None = None) -> World:
    world = World(changes)
    world.start()
    return world


class TestStarting:
    def test_every_condition_is_there_from_the_first_look(self) -> None:
        world = World()
        world.carry_out()
        seen = world.look()
        assert [one.type for one in seen.conditions] == CONDITIONS
        assert {one.observed_generation for one in seen.conditions} == {1}
        assert seen.observed_generation == 1
        assert seen.phase is Phase.PENDING
        assert told(seen, "Ready")[:2] == ("False", "HeadPending")
        assert told(seen, "Reconciling")[:2] == ("True", "HeadPending")
        assert told(seen, "Stalled")[:2] == ("False", "Progressing")

    def test_the_head_comes_before_the_workers(self) -> None:
        world = started()
        assert told(world.look(), "RayClusterReady")[1] == "HeadStarting"
        world.run_pods("head")
        assert told(world.look(), "RayClusterReady") == ("False", "WorkersStarting", "0 of 4 worker pods are ready")
        world.run_pods("worker")
        assert told(world.look(), "RayClusterReady") == ("True", "Ready", "the head and 4 of 4 worker pods are ready")

    def test_ready_when_enough_collectors_are_available_although_a_worker_pod_is_not(self) -> None:
        world = running()
        pod = world.pods("worker")[0]
        world.set_pod(pod, phase="Pending")
        world.report(3)
        seen = world.look()
        assert told(seen, "Ready") == ("True", "Collecting", "3 of 4 collectors run acknowledged weights")
        assert told(seen, "Reconciling")[:2] == ("True", "SomeUnavailable")
        assert seen.phase is Phase.COLLECTING
        assert seen.replicas == 3

    def test_a_fleet_as_its_spec_asks_reconciles_no_more(self) -> None:
        seen = running().look()
        assert told(seen, "Ready")[0] == "True"
        assert told(seen, "Reconciling")[:2] == ("False", "AllAvailable")
        assert seen.selector == "collectorfleet.dev/fleet=cheetah,collectorfleet.dev/role=worker"

    def test_gpus_that_no_collector_uses_are_told(self) -> None:
        world = World({"spec.collectors": {"replicas": 5, "resources": {"gpu": 0.25}}})
        world.carry_out()
        cluster = world.look().ray_cluster
        assert cluster is not None
        assert cluster.worker_pods is not None
        assert (cluster.worker_pods.desired, cluster.gpu_per_collector, cluster.surplus_gpu) == (2, 0.25, 0.75)


class TestProblems:
    def test_an_image_that_cannot_be_pulled_reaches_ready_in_kubernetes_words(self) -> None:
        world = started()
        world.run_pods("head")
        world.hold_up("worker", "ErrImagePull", "ghcr.io/you/cheetah:1.0: not found")
        seen = world.look()
        text = "4 of 4 worker pods: ghcr.io/you/cheetah:1.0: not found"
        assert told(seen, "RayClusterReady") == ("False", "ImagePullBackOff", text)
        assert told(seen, "Ready") == ("False", "ImagePullBackOff", text)

    def test_a_driver_with_a_problem_comes_before_a_head_that_starts(self) -> None:
        world = started()
        world.hold_up("driver", "CreateContainerConfigError", 'configmap "code" not found')
        ready = told(world.look(), "Ready")
        assert ready[1] == "CreateContainerConfigError"
        assert 'configmap "code" not found' in ready[2]

    @pytest.mark.parametrize(
        ("role", "type_", "reason"),
        [
            ("head", "RayClusterReady", "HeadUnschedulable"),
            ("worker", "RayClusterReady", "CollectorUnschedulable"),
            ("driver", "DriverRunning", "DriverUnschedulable"),
        ],
    )
    def test_a_pod_that_fits_nowhere_says_so_in_the_schedulers_words(self, role: str, type_: str, reason: str) -> None:
        world = started()
        if role == "worker":
            world.run_pods("head")
        words = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
        unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}
        for pod in world.pods(role):
            world.set_pod(pod, phase="Pending", conditions=[unschedulable])
        found = told(world.look(), type_)
        assert found[:2] == ("False", reason)
        assert words in found[2]

    def test_a_worker_killed_for_memory_says_its_limit(self) -> None:
        world = running()
        state = {
            "name": "ray-worker",
            "ready": False,
            "restartCount": 2,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"}},
            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        }
        for pod in world.pods("worker"):
            world.set_pod(pod, phase="Running", containerStatuses=[state])
        assert told(world.look(), "RayClusterReady") == (
            "False",
            "OOMKilled",
            "4 of 4 worker pods: container ray-worker was killed at its memory limit of 3Gi, restarted 2 times",
        )

    def test_a_warning_about_a_child_explains_pods_that_never_come(self) -> None:
        world = World()
        world.carry_out()
        warned = Warned(uid_of(world.get(JOB, DRIVER)), "FailedCreate", "exceeded quota: gpus")
        seen = world.look(warnings=[warned])
        assert told(seen, "DriverRunning") == ("False", "FailedCreate", "exceeded quota: gpus")

    def test_without_kuberay_the_fleet_is_stalled_and_says_how_to_install_it(self) -> None:
        seen = World().look(kuberay_installed=False)
        assert told(seen, "Stalled")[:2] == ("True", "KubeRayMissing")
        assert told(seen, "Reconciling")[0] == "False"
        assert "helm install" in told(seen, "Ready")[2]

    def test_a_child_that_is_refused_stalls_the_fleet_in_the_api_servers_words(self) -> None:
        refused = Refused(
            RAYCLUSTER, "Refused", "apply RayCluster default/cheetah: .spec.x: field not declared in schema"
        )
        seen = World().look(refused=[refused])
        for type_, status in (("Stalled", "True"), ("RayClusterReady", "False"), ("Ready", "False")):
            assert told(seen, type_) == (status, "Refused", refused.message)

    def test_an_invalid_spec_stalls_the_fleet_with_all_its_problems(self) -> None:
        seen = World({"spec.collectors.resources": {"gpu": 1.5}, "spec.driver.resources": {"gpu": 0.5}}).look()
        status, reason, message = told(seen, "Stalled")
        assert (status, reason) == ("True", "InvalidSpec")
        assert "1.5 is more than one GPU and not whole" in message
        assert "the driver gets whole GPUs" in message
        assert told(seen, "Ready")[:2] == ("False", "InvalidSpec")
        assert seen.phase is Phase.FAILED

    def test_a_run_goes_on_while_its_changed_spec_is_invalid(self) -> None:
        world = running()
        world.edit({"spec.collectors.resources": {"gpu": 1.5}})
        seen = world.look()
        assert told(seen, "Stalled")[1] == "InvalidSpec"
        assert told(seen, "CollectorsAvailable")[0] == "True"


class TestDriver:
    def test_a_lease_that_is_not_renewed_is_a_lost_driver(self) -> None:
        world = running()
        world.seconds = LOST_AFTER.total_seconds() + 1
        seen = world.look()
        assert told(seen, "DriverRunning")[:2] == ("False", "DriverLost")
        assert told(seen, "CollectorsAvailable")[:2] == ("False", "DriverNotRunning")
        assert told(seen, "Ready")[:2] == ("False", "DriverLost")
        assert seen.phase is Phase.DEGRADED
        assert seen.replicas == 0

    def test_a_lease_of_an_earlier_driver_says_nothing_about_this_one(self) -> None:
        world = running()
        world.renew_lease(holder="cheetah-driver-before")
        world.seconds = 10 * LOST_AFTER.total_seconds()
        assert told(world.look(), "DriverRunning")[0] == "True"

    def test_the_end_is_told_before_the_job_says_so(self) -> None:
        world = running()
        world.end_driver(0)
        assert told(world.look(), "Ready")[:2] == ("True", "Completed")
        world = running()
        world.end_driver(64, "no such game")
        assert told(world.look(), "Stalled")[:2] == ("True", "Failed")
        assert told(world.look(), "DriverRunning")[2].startswith("no such game; ")

    def test_a_failed_driver_is_tried_again_and_says_why(self) -> None:
        world = running()
        world.end_driver(1, "the head at cheetah-head-svc:6379 is gone")
        job = world.get(JOB, DRIVER)
        world.store({**job, "status": {"failed": 1}})
        seen = world.look()
        status, reason, message = told(seen, "DriverRunning")
        assert (status, reason) == ("False", "Restarting")
        assert message.endswith("failed (1 of 7 tries): the head at cheetah-head-svc:6379 is gone")
        assert seen.driver is not None
        assert seen.driver.restarts == 1

    def test_the_log_of_a_driver_without_a_last_word_is_read_from_its_end(self) -> None:
        world = running()
        world.end_driver(1, 'Traceback (most recent call last):\n  File "x.py"\nConnectionError: no route to host\n')
        assert told(world.look(), "DriverRunning")[2].endswith(": ConnectionError: no route to host")

    @pytest.mark.parametrize(
        ("checkpoint", "said"),
        [
            pytest.param({}, ": it started over, because there is no spec.driver.checkpoint", id="starts over"),
            pytest.param({"spec.driver.checkpoint": {"claimName": "cheetah"}}, "", id="goes on"),
        ],
    )
    def test_a_driver_that_was_started_again_says_what_was_lost(self, checkpoint: dict[str, Any], said: str) -> None:
        world = running(checkpoint)
        before = told(world.look(), "DriverRunning")[2]
        world.report(4, driverIncarnation=2, progress={"framesLost": 800})
        assert told(world.look(), "DriverRunning") == (
            *("True", "Running"),
            f"{before}; start 2, 800 frames were lost with earlier ones{said}",
        )

    def test_a_report_of_an_earlier_fleet_of_this_name_is_ignored(self) -> None:
        world = running()
        world.report(4, fleetUID="fleet-0")
        seen = world.look()
        assert told(seen, "CollectorsAvailable")[:2] == ("Unknown", "NoReport")
        assert told(seen, "Ready")[0] == "False"

    def test_a_report_from_before_the_driver_was_replaced_is_ignored(self) -> None:
        world = running()
        world.report(4, at=later(-60))
        assert told(world.look(), "CollectorsAvailable")[:2] == ("Unknown", "NoReport")

    def test_a_changed_spec_that_the_driver_cannot_take_up_is_told(self) -> None:
        world = running()
        world.edit({"spec.image": "ghcr.io/you/cheetah:2.0"})
        seen = world.look()
        assert told(seen, "Ready")[0] == "True"
        status, reason, message = told(seen, "Reconciling")
        assert (status, reason) == ("True", "RestartNeeded")
        assert "runs generation 1" in message
        assert "delete Job cheetah-driver to start over with generation 2" in message


class TestTheEnd:
    def test_completed_is_ready_for_good(self) -> None:
        world = running()
        world.end_driver(0)
        world.end_job("Complete", completionTime="2026-07-01T12:00:00Z")
        world.carry_out()
        seen = world.look()
        assert told(seen, "Ready")[:2] == ("True", "Completed")
        assert told(seen, "Completed")[:2] == ("True", "Completed")
        assert "after 12000 frames in 3 batches" in told(seen, "Completed")[2]
        assert told(seen, "Reconciling")[0] == told(seen, "Stalled")[0] == "False"
        assert seen.phase is Phase.COMPLETED
        assert seen.replicas == 0
        world.collect(world.get(JOB, DRIVER), *world.pods("driver"))
        assert world.look(later(60)) == seen

    def test_failed_says_the_first_cause_and_what_is_kept(self) -> None:
        world = running()
        cause = "environment my_envs:make (collector c0): ValueError: no such game"
        world.end_driver(64, f"{cause}\nTraceback (most recent call last):\n  ...")
        world.end_job("Failed")
        seen = world.look()
        text = f"{cause}; the RayCluster is deleted, Job cheetah-driver and its pods are kept for their logs"
        assert told(seen, "Stalled") == ("True", "Failed", text)
        assert told(seen, "Completed") == ("False", "Failed", text)
        assert told(seen, "Ready") == ("False", "Failed", text)
        assert told(seen, "Reconciling")[0] == "False"
        assert seen.phase is Phase.FAILED

    def test_the_cause_outlives_the_pod_that_told_it(self) -> None:
        world = running()
        world.end_driver(64, "no such game")
        world.end_job("Failed")
        before = world.look()
        world.collect(*world.pods("driver"))
        assert told(world.look(later(60)), "Completed") == told(before, "Completed")

    def test_infrastructure_that_keeps_failing_is_told_with_the_limit(self) -> None:
        world = running()
        world.end_driver(137, reason="OOMKilled")
        world.end_job("Failed", failed=7)
        message = told(world.look(), "Stalled")[2]
        assert message.startswith("the driver failed 7 times (backoffLimit is 6), the last time: container driver was")
        assert "killed at its memory limit of 2Gi" in message


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


@pytest.mark.parametrize(
    ("status", "reason"), [("Failed", "Evicted"), ("Failed", "NodeLost")], ids=["evicted", "node lost"]
)
def test_a_pod_that_kubernetes_ended_says_why(status: str, reason: str) -> None:
    world = running()
    pod = world.pods("head")[0]
    world.set_pod(pod, phase=status, reason=reason, message="The node was low on resource: memory.")
    assert told(world.look(), "RayClusterReady")[1:] == (
        reason,
        "1 of 1 head pods: The node was low on resource: memory.",
    )


def test_pods_of_an_earlier_cluster_are_named_while_they_are_waited_for() -> None:
    world = running()
    pods = world.pods("head") + world.pods("worker")
    world.replace_fleet()
    world.collect(world.get(RAYCLUSTER), world.get(JOB, DRIVER))
    found: Any = condition(world.look(), "RayClusterReady")
    assert (found.status, found.reason) == (ConditionStatus.FALSE, "WaitingForDeletion")
    assert name_of(pods[0]) in found.message
