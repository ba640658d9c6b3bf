"""A fleet that waits in a queue of Kueue's: nothing of it before it is admitted, nothing lost when evicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.combinations.parts import JOB as WITHOUT_RAY
from tests.unit.collectorfleet_operator.steps import STEPS, take
from tests.unit.collectorfleet_operator.world import DRIVER, KEY, NOON, World, condition, kinds, running, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.timeline import CONFIG_MAP
from collectorfleet_operator.children.workload import WORKLOAD, KueueVersion
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, Create, Delete, SetStatus
from collectorfleet_operator.decide.deadlines import LOOK_FOR_MISSING_AFTER
from collectorfleet_operator.decide.workload import RESERVED, message_of
from collectorfleet_operator.objects import Key, Object, has_condition, name_of

CHECKPOINT = {"spec.driver.checkpoint": {"claimName": "runs"}}
SPOT: Object = {
    "metadata": {"name": "spot"},
    "spec": {
        "nodeLabels": {"pool": "spot"},
        "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
    },
}
NOT_ENABLED = "the operator serves no queues"


def label(world: World, **labels: str) -> None:
    fleet = world.get(FLEET)
    fleet["metadata"]["labels"] = {names.QUEUE_LABEL: "team", **labels}
    world.store(fleet)


def queued(changes: dict[str, Any] | None = None) -> World:
    """A fleet whose Workload is made."""
    world = World(changes)
    world.flavors["spot"] = SPOT
    label(world)
    assert kinds(world.carry_out()) == ["Create Workload"]
    return world


def say(world: World, type_: str, word: str, reason: str = "Said", message: str = "") -> None:
    """A condition that Kueue writes."""
    found = world.get(WORKLOAD)
    status = found.setdefault("status", {})
    kept = [one for one in status.get("conditions", []) if one["type"] != type_]
    time = NOON.strftime("%Y-%m-%dT%H:%M:%SZ")
    new = {"type": type_, "status": word, "reason": reason, "message": message, "lastTransitionTime": time}
    status["conditions"] = [*kept, new]
    world.store(found)


def admit(world: World) -> None:
    found = world.get(WORKLOAD)
    assignments = [
        {"name": one["name"], "count": one["count"], "flavors": {"cpu": "spot", "memory": "spot"}}
        for one in found["spec"]["podSets"]
    ]
    found["status"] = {"admission": {"clusterQueue": "lab", "podSetAssignments": assignments}}
    world.store(found)
    say(world, "QuotaReserved", "True")
    say(world, "Admitted", "True")


def admitted(changes: dict[str, Any] | None = None) -> World:
    """A fleet that runs on its quota, and has told Kueue so."""
    world = queued(changes)
    admit(world)
    world.start()
    assert [type(one) for one in world.carry_out()] == [SetStatus]
    return world


def counts(world: World) -> dict[str, int]:
    return {one["name"]: one["count"] for one in world.get(WORKLOAD)["spec"]["podSets"]}


def test_one_workload_asks_for_driver_head_and_workers_and_nothing_is_made_before_it_is_admitted() -> None:
    world = queued({"spec.collectors.replicas": 4})
    asked = world.get(WORKLOAD)
    assert asked["spec"]["queueName"] == "team"
    assert counts(world)["driver"] == counts(world)["head"] == 1
    say(
        world,
        "QuotaReserved",
        "False",
        "Pending",
        "insufficient unused quota for memory in flavor spot, 5Gi more needed",
    )
    assert world.plan().actions == ()
    status = world.look()
    assert told(status, "Admitted") == (
        "False",
        "WaitingForQuota",
        "LocalQueue team: insufficient unused quota for memory in flavor spot, 5Gi more needed",
    )
    assert told(status, "Ready")[1:] == told(status, "Admitted")[1:]
    assert told(status, "Stalled")[0] == "False"
    assert status.phase is Phase.PENDING


def test_the_workload_asks_for_what_the_pods_ask_for() -> None:
    world = admitted()
    driver, head, workers = (one["template"]["spec"]["containers"] for one in world.get(WORKLOAD)["spec"]["podSets"])
    cluster = world.get(RAYCLUSTER)["spec"]
    made = world.get(JOB, DRIVER)["spec"]["template"]["spec"]["containers"]
    assert driver[0]["resources"] == made[0]["resources"]
    assert head[0]["resources"] == cluster["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"]
    (group,) = cluster["workerGroupSpecs"]
    assert workers[0]["resources"] == group["template"]["spec"]["containers"][0]["resources"]
    assert counts(world)["workers-collectors"] == group["replicas"]


def test_the_workload_asks_for_what_claims_ask_for() -> None:
    world = queued(
        {"spec.workers": {"gpu": {"mode": "DRA", "claimTemplate": "one-gpu"}}, "spec.collectors.resources": {"gpu": 1}}
    )
    by_name = {one["name"]: one["template"]["spec"] for one in world.get(WORKLOAD)["spec"]["podSets"]}
    (claim,) = by_name["workers-collectors"]["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == "one-gpu"
    (used,) = by_name["workers-collectors"]["containers"][0]["resources"]["claims"]
    assert used["name"] == claim["name"]


def test_an_admitted_fleet_is_made_at_once_where_the_flavors_say() -> None:
    world = queued()
    admit(world)
    made = kinds(world.carry_out())
    assert "Create Job" in made
    assert "Create RayCluster" in made
    cluster = world.get(RAYCLUSTER)["spec"]
    templates = [
        world.get(JOB, DRIVER)["spec"]["template"],
        cluster["headGroupSpec"]["template"],
        cluster["workerGroupSpecs"][0]["template"],
    ]
    for template in templates:
        assert template["spec"]["nodeSelector"] == {"pool": "spot"}
        assert SPOT["spec"]["tolerations"][0] in template["spec"]["tolerations"]
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[:2] == ("True", "Admitted")


def test_what_admission_checks_add_goes_to_the_pods_that_they_name() -> None:
    world = queued()
    admit(world)
    found = world.get(WORKLOAD)
    update = {"name": "driver", "nodeSelector": {"made-for": "cheetah"}, "annotations": {"provisioned": "yes"}}
    found["status"]["admissionChecks"] = [{"name": "nodes", "state": "Ready", "podSetUpdates": [update]}]
    world.store(found)
    world.carry_out()
    driver = world.get(JOB, DRIVER)["spec"]["template"]
    assert driver["spec"]["nodeSelector"] == {"pool": "spot", "made-for": "cheetah"}
    assert driver["metadata"]["annotations"]["provisioned"] == "yes"
    assert "made-for" not in world.get(RAYCLUSTER)["spec"]["headGroupSpec"]["template"]["spec"]["nodeSelector"]


def test_nothing_starts_on_a_flavor_that_does_not_exist() -> None:
    world = queued()
    world.flavors.clear()
    admit(world)
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[2] == "LocalQueue team: ResourceFlavor spot does not exist"
    # Nobody tells when there is one.
    assert world.plan().again_after == LOOK_FOR_MISSING_AFTER
    world.flavors["spot"] = SPOT
    assert "Create Job" in kinds(world.carry_out())
    assert world.plan().again_after != LOOK_FOR_MISSING_AFTER


@pytest.mark.parametrize("launcher", [{}, WITHOUT_RAY], ids=["RayCluster", "Job"])
def test_kueue_is_told_once_that_all_pods_are_ready(launcher: dict[str, Any]) -> None:
    world = admitted(launcher)
    assert has_condition(world.get(WORKLOAD), "PodsReady")
    assert world.plan().actions == ()


def ready_message(world: World) -> str:
    """What Kueue was told beside ``PodsReady``; empty if it was not."""
    found = world.get(WORKLOAD)
    return message_of(found, "PodsReady") if has_condition(found, "PodsReady") else ""


def with_a_pod_that_never_starts(replicas: int = 4, min_available: int = 3) -> World:
    """An admitted fleet of one pod a collector, all of whose pods but one worker run."""
    collectors = {"spec.collectors.replicas": replicas, "spec.collectors.minAvailable": min_available}
    world = queued(collectors | {"spec.workers.collectorsPerPod": 1})
    admit(world)
    world.carry_out()
    world.make_pods()
    world.run_pods("head", "worker", "driver")
    world.set_pod(world.pods("worker")[-1], phase="Pending")
    world.renew_lease()
    return world


def test_kueue_does_not_evict_a_fleet_that_collects_with_some_of_its_pods_pending() -> None:
    world = with_a_pod_that_never_starts(replicas=4, min_available=3)
    world.report(2)
    assert kinds(world.carry_out()) == []
    world.report(3)
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert told(world.look(), "Ready")[0] == "True"
    assert ready_message(world) == "the fleet is Ready: 3 of 4 collectors run acknowledged weights"
    assert world.plan().actions == ()


def test_kueue_does_not_evict_a_fleet_whose_first_batch_takes_long() -> None:
    world = with_a_pod_that_never_starts(replicas=4, min_available=3)
    counts = {"desired": 4, "available": 3, "summary": "3/4"}
    world.report(3, progress={"batches": 0, "framesDelivered": 0, "collectors": counts})
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert told(world.look(), "Ready")[:2] == ("False", "FirstBatchPending")
    assert ready_message(world).startswith("enough pods of the fleet are ready: ")


def test_kueue_is_told_that_a_fleet_is_ready_before_a_child_may_be_refused() -> None:
    world = with_a_pod_that_never_starts(replicas=4, min_available=3)
    world.report(3)
    world.collect(world.get(CONFIG_MAP, Key(KEY.namespace, names.timeline_name(KEY.name))))
    assert kinds(world.plan().actions) == ["SetStatus Workload", "Create ConfigMap"]


def test_kueue_is_told_nothing_of_a_fleet_that_is_not_ready_and_lacks_a_pod() -> None:
    world = with_a_pod_that_never_starts(replicas=4, min_available=4)
    world.report(3)
    assert world.plan().actions == ()
    assert ready_message(world) == ""


def test_a_fleet_whose_pods_are_ready_keeps_its_quota_while_its_environments_start() -> None:
    world = queued()
    admit(world)
    world.carry_out()
    world.make_pods()
    world.run_pods("head", "worker", "driver")
    world.renew_lease()
    world.report(0)
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert told(world.look(), "Ready")[0] == "False"
    assert ready_message(world) == "all pods of the fleet are ready"


def test_an_evicted_fleet_ends_at_a_batch_and_gives_its_quota_back_when_its_pods_are_gone() -> None:
    world = admitted(CHECKPOINT)
    say(world, "Evicted", "True", "Preempted", "Preempted to accommodate a workload of higher priority")
    status = world.look()
    assert status.orders is not None
    assert status.orders.stop_at_batch
    assert status.orders.driver == name_of(world.pods("driver")[0])
    assert told(status, "Admitted") == (
        "False",
        "QuotaTakenBack",
        "Kueue takes its quota back (Preempted to accommodate a workload of higher priority)",
    )
    assert told(status, "Ready")[1] == "QuotaTakenBack"
    assert status.phase is Phase.SUSPENDING
    assert world.plan().actions == ()

    world.end_driver(names.EXIT_STOPPED, "stopped: the operator asked it to, at the end of a batch")
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert set(kinds(world.carry_out())) == {"Delete Pod"}
    world.collect(*world.pods("driver"))
    assert kinds(world.carry_out()) == ["SetStatus Workload"]

    given_back = world.get(WORKLOAD)
    assert given_back["status"]["admission"] is None
    assert not has_condition(given_back, "QuotaReserved")
    assert not has_condition(given_back, "Admitted")
    assert not has_condition(given_back, "PodsReady")
    assert has_condition(given_back, "Requeued")
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[1] == "WaitingForQuota"

    say(world, "Evicted", "False")
    admit(world)
    assert "Create Job" in kinds(world.carry_out())


def test_a_workload_that_somebody_deletes_ends_the_driver_and_is_made_again() -> None:
    world = admitted(CHECKPOINT)
    world.collect(world.get(WORKLOAD))
    assert told(world.look(), "Admitted") == ("False", "QuotaTakenBack", "its Workload was deleted")
    world.end_driver(names.EXIT_STOPPED)
    assert kinds(world.carry_out()) == ["Delete Job"]
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    world.collect(*world.pods("driver"), *world.pods("head"), *world.pods("worker"))
    assert kinds(world.carry_out()) == ["Create Workload"]


def test_a_fleet_that_is_scaled_beyond_its_quota_says_so_and_keeps_what_it_has() -> None:
    small, large = {"spec.collectors.replicas": 4}, {"spec.collectors.replicas": 40}
    world = admitted(small)
    before = world.get(RAYCLUSTER)
    world.edit(large)
    assert world.plan().actions == ()
    assert world.get(RAYCLUSTER) == before
    status, reason, message = told(world.look(), "Admitted")
    assert (status, reason) == ("True", "AdmittedForFewer")
    assert "but the fleet needs" in message
    assert "set spec.suspend to true and back" in message


def test_scaling_within_the_quota_changes_nothing_of_the_workload() -> None:
    world = admitted({"spec.collectors.replicas": 40})
    asked = counts(world)
    world.edit({"spec.collectors.replicas": 4})
    world.report(4)
    assert kinds(world.carry_out()) == ["Update RayCluster"]
    world.make_pods()
    assert counts(world) == asked
    assert told(world.look(), "Admitted")[1] == "Admitted"
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Update RayCluster"]


def test_a_waiting_fleet_asks_for_what_its_changed_spec_needs() -> None:
    world = queued({"spec.collectors.replicas": 4})
    before = counts(world)["workers-collectors"]
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Update Workload"]
    assert counts(world)["workers-collectors"] > before


def test_quota_for_other_pods_is_given_back_before_anything_is_made() -> None:
    world = queued({"spec.collectors.replicas": 4})
    admit(world)
    world.edit({"spec.collectors.replicas": 40})
    assert kinds(world.carry_out()) == ["Delete Workload"]
    assert kinds(world.carry_out()) == ["Create Workload"]


def test_quota_is_given_back_by_a_fleet_that_is_suspended_or_done_once_its_pods_are_gone() -> None:
    world = admitted()
    world.end_driver(0)
    world.end_job("Complete")
    world.look()
    assert kinds(world.carry_out()) == ["Delete RayCluster"]
    assert world.plan().actions == ()
    world.collect(*world.pods("head"), *world.pods("worker"))
    assert kinds(world.carry_out()) == ["Delete Workload"]

    world = queued()
    world.edit({"spec.suspend": True})
    assert kinds(world.carry_out()) == ["Delete Workload"]


def test_a_fleet_whose_spec_cannot_be_run_holds_no_quota() -> None:
    world = queued()
    admit(world)
    world.edit({"spec.collectors.resources": {"gpu": 1.5}})
    assert kinds(world.carry_out()) == ["Delete Workload"]


def test_a_run_that_began_without_a_queue_goes_on_and_says_that_it_is_in_none() -> None:
    world = running()
    label(world)
    assert world.plan().actions == ()
    status = world.look()
    assert told(status, "Admitted")[:2] == ("False", "NotQueued")
    assert told(status, "Ready")[0] == "True"


def test_a_run_stays_in_its_queue_when_the_label_is_taken_off() -> None:
    world = admitted()
    fleet = world.get(FLEET)
    fleet["metadata"]["labels"] = {}
    world.store(fleet)
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[0] == "True"


def test_a_fleet_with_a_queue_waits_for_somebody_to_install_kueue() -> None:
    world = World()
    label(world)
    assert world.plan(why_no_queues=NOT_ENABLED).actions == ()
    status = world.look(why_no_queues=NOT_ENABLED)
    assert told(status, "Admitted") == ("False", "KueueMissing", NOT_ENABLED)
    assert told(status, "Stalled")[:2] == ("True", "KueueMissing")


def test_a_kueue_that_is_away_takes_nothing_back() -> None:
    world = admitted()
    assert world.plan(why_no_queues=NOT_ENABLED).actions == ()
    assert told(world.look(why_no_queues=NOT_ENABLED), "Ready")[0] == "True"


def test_what_runs_is_left_as_it_is_while_nobody_knows_where_its_pods_may_be() -> None:
    world = admitted()
    world.flavors.clear()
    assert world.plan().actions == ()
    assert world.restarted().plan(why_no_queues=NOT_ENABLED).actions == ()


def test_quota_that_is_for_pods_of_another_template_is_told() -> None:
    rolling = {"spec.updateStrategy": {"type": "RollingUpdate"}}
    world = admitted(rolling)
    world.edit({**rolling, "spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}})
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    status, reason, message = told(world.look(), "Admitted")
    assert (status, reason) == ("True", "Admitted")
    assert "its pod templates have changed since" in message


def test_a_priority_is_the_number_of_its_class() -> None:
    world = World()
    label(world, **{names.PRIORITY_LABEL: "urgent"})
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[:2] == ("False", "PriorityClassMissing")
    # Nobody tells when there is one.
    assert world.plan().again_after == LOOK_FOR_MISSING_AFTER
    found = world.plan(priority_class={"metadata": {"name": "urgent"}, "value": 100})
    assert found.again_after is None
    (asks,) = found.actions
    spec = asks.manifest["spec"]  # type: ignore[union-attr]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (100, "urgent")


def test_an_upgrade_of_kueue_changes_no_workload_that_waits_or_runs() -> None:
    priority: Object = {"metadata": {"name": "urgent"}, "value": 100}
    world = World()
    world.flavors["spot"] = SPOT
    label(world, **{names.PRIORITY_LABEL: "urgent"})
    world.carry_out(kueue=KueueVersion.V1BETA1, priority_class=priority)
    waits = world.get(WORKLOAD)
    assert waits["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    assert waits["spec"]["priorityClassName"] == "urgent"

    # What Kueue's conversion makes of it.
    del waits["spec"]["priorityClassName"], waits["spec"]["priorityClassSource"]
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    spec = {**waits["spec"], "priorityClassRef": reference, "active": True}
    world.store({**waits, "apiVersion": "kueue.x-k8s.io/v1beta2", "spec": spec})
    assert world.plan(priority_class=priority).actions == ()
    admit(world)
    world.start()
    assert kinds(world.carry_out()) == ["SetStatus Workload"]
    assert world.plan(priority_class=priority).actions == ()
    assert told(world.look(), "Admitted")[:2] == ("True", "Admitted")


def test_a_fleet_without_a_queue_has_no_such_condition() -> None:
    world = running()
    assert not [one for one in world.look().conditions if one.type == "Admitted"]
    assert condition(world.look(), "Ready")
    assert world.cache.get(WORKLOAD, KEY) is None


KUEUE_STEPS = st.sampled_from(["admit", "evict", "delete", "unlabel", "label"])


def take_or_say(world: World, what: str, *values: Any) -> None:
    """A step of Kueue's, or of somebody who has to do with queues; else one of all fleets."""
    found = world.cache.get(WORKLOAD, KEY)
    match what:
        case "admit" if found is not None and not has_condition(found, RESERVED):
            say(world, "Evicted", "False")
            admit(world)
        case "evict" if found is not None and has_condition(found, RESERVED):
            say(world, "Evicted", "True", "Preempted", "for another")
        case "delete" if found is not None:
            world.collect(found)
        case "label":
            label(world)
        case "unlabel":
            fleet = world.get(FLEET)
            fleet["metadata"]["labels"] = {}
            world.store(fleet)
        case _:
            take(world, what, *values)


def gives_back(actions: Sequence[Action]) -> bool:
    """Whether Kueue may give the fleet's quota to another Workload from then on."""
    deleted = any(one.kind == WORKLOAD and isinstance(one, Delete) for one in actions)
    return deleted or any(isinstance(one, SetStatus) and "admission" in one.status for one in actions)


@given(st.lists(st.one_of(STEPS.map(lambda steps: steps[:1]), KUEUE_STEPS.map(lambda one: [(one,)])), max_size=14))
@settings(max_examples=80, deadline=None)
def test_nothing_is_made_without_quota_and_a_plan_comes_to_an_end(drawn: list[list[tuple[Any, ...]]]) -> None:
    world = World()
    world.flavors["spot"] = SPOT
    label(world)
    for step in (one for steps in drawn for one in steps):
        take_or_say(world, *step)
        for _ in range(8):
            before = world.seen()
            actions = world.carry_out()
            if not actions:
                break
            may_run = isinstance(queue.state(before), queue.Admitted | queue.Unqueued)
            made = [one.kind for one in actions if isinstance(one, Create)]
            assert may_run or not {JOB, RAYCLUSTER} & set(made)
            assert not gives_back(actions) or not queue.in_use(before)
        assert world.plan().actions == ()
