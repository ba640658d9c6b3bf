"""The Workload by which a fleet requests quota from Kueue."""

from __future__ import annotations

from tests.unit.collectorfleet_operator.decide.queued import (
    SPOT,
    admit,
    admitted,
    label,
    queued,
    requested_pods,
    say,
    with_quota,
)
from tests.unit.collectorfleet_operator.world import DRIVER, World, kinds, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.workload import WORKLOAD, KueueVersion
from collectorfleet_operator.decide.deadlines import LOOK_FOR_MISSING_AFTER
from collectorfleet_operator.objects import Object

URGENT: Object = {"metadata": {"name": "urgent"}, "value": 100}


def urgent() -> World:
    """Return a fleet whose label names the WorkloadPriorityClass ``urgent``."""
    world = World()
    world.flavors["spot"] = SPOT
    label(world, **{names.PRIORITY_LABEL: "urgent"})
    return world


def test_one_workload_asks_for_driver_head_and_workers_and_nothing_is_made_before_it_is_admitted() -> None:
    world = queued({"spec.collectors.replicas": 4})
    assert world.get(WORKLOAD)["spec"]["queueName"] == "team"
    assert requested_pods(world) == {"driver": 1, "head": 1, "workers-collectors": 4}
    why = "insufficient unused quota for memory in flavor spot, 5Gi more needed"
    say(world, "QuotaReserved", "False", "Pending", why)
    assert world.plan().actions == ()
    status = world.look()
    assert told(status, "Admitted") == ("False", "WaitingForQuota", f"LocalQueue team: {why}")
    assert told(status, "Ready")[1:] == told(status, "Admitted")[1:]
    assert told(status, "Stalled")[0] == "False"
    assert status.phase is Phase.PENDING


def test_the_workload_asks_for_what_the_pods_ask_for() -> None:
    world = admitted()
    cluster = world.get(RAYCLUSTER)["spec"]
    (group,) = cluster["workerGroupSpecs"]
    templates = [world.get(JOB, DRIVER)["spec"]["template"], cluster["headGroupSpec"]["template"], group["template"]]
    resources = [one["spec"]["containers"][0]["resources"] for one in templates]
    pod_sets = world.get(WORKLOAD)["spec"]["podSets"]
    assert [one["template"]["spec"]["containers"][0]["resources"] for one in pod_sets] == resources
    # The three kinds of pods request different resources.
    assert len(set(map(str, resources))) == 3
    assert requested_pods(world)["workers-collectors"] == group["replicas"]


def test_the_workload_asks_for_what_claims_ask_for() -> None:
    world = queued(
        {"spec.workers": {"gpu": {"mode": "DRA", "claimTemplate": "one-gpu"}}, "spec.collectors.resources": {"gpu": 1}}
    )
    by_name = {one["name"]: one["template"]["spec"] for one in world.get(WORKLOAD)["spec"]["podSets"]}
    (claim,) = by_name["workers-collectors"]["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == "one-gpu"
    (used,) = by_name["workers-collectors"]["containers"][0]["resources"]["claims"]
    assert used["name"] == claim["name"]


def test_a_waiting_fleet_asks_for_what_its_changed_spec_needs() -> None:
    world = queued({"spec.collectors.replicas": 4})
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Update Workload"]
    assert requested_pods(world)["workers-collectors"] == 40


def test_quota_for_other_pods_is_given_back_before_anything_is_made() -> None:
    world = with_quota({"spec.collectors.replicas": 4})
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Delete Workload"]
    assert kinds(world.carry_out()) == ["Create Workload"]
    assert requested_pods(world)["workers-collectors"] == 40


def test_a_fleet_that_is_scaled_beyond_its_quota_keeps_what_it_has() -> None:
    world = admitted({"spec.collectors.replicas": 4})
    world.edit({"spec.collectors.replicas": 40})
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[:2] == ("True", "AdmittedForFewer")


def test_scaling_within_the_quota_changes_nothing_of_the_workload() -> None:
    world = admitted({"spec.collectors.replicas": 40})
    world.edit({"spec.collectors.replicas": 4})
    world.report(4)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    world.make_pods()
    assert requested_pods(world)["workers-collectors"] == 40
    assert told(world.look(), "Admitted")[1] == "Admitted"
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Update RayCluster"]


def test_a_priority_is_the_number_of_its_class() -> None:
    world = urgent()
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[:2] == ("False", "PriorityClassMissing")
    # The operator does not watch priority classes, so it has to look again.
    assert world.plan().again_after == LOOK_FOR_MISSING_AFTER
    assert world.plan(priority_class=URGENT).again_after is None
    world.carry_out(priority_class=URGENT)
    spec = world.get(WORKLOAD)["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (100, "urgent")


def test_an_upgrade_of_kueue_changes_no_workload_that_waits_or_runs() -> None:
    world = urgent()
    world.carry_out(kueue=KueueVersion.V1BETA1, priority_class=URGENT)
    waits = world.get(WORKLOAD)
    assert waits["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    assert waits["spec"]["priorityClassName"] == "urgent"

    # Kueue converts the Workload.
    del waits["spec"]["priorityClassName"], waits["spec"]["priorityClassSource"]
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    spec = {**waits["spec"], "priorityClassRef": reference, "active": True}
    world.store({**waits, "apiVersion": "kueue.x-k8s.io/v1beta2", "spec": spec})
    assert world.plan(priority_class=URGENT).actions == ()
    admit(world)
    world.start()
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert world.plan(priority_class=URGENT).actions == ()
    assert told(world.look(), "Admitted")[:2] == ("True", "Admitted")


def test_quota_that_waits_for_a_check_and_is_for_other_pods_is_asked_for_anew() -> None:
    world = queued({"spec.collectors.replicas": 4})
    say(world, "QuotaReserved", "True")
    assert world.plan().actions == ()
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Delete Workload"]
    assert kinds(world.carry_out()) == ["Create Workload"]
