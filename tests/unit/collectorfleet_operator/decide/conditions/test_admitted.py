"""``Admitted``: what Kueue says about the quota of a fleet, in the words of the user's next step."""

from __future__ import annotations

from typing import Any

import pytest
from tests.combinations.parts import EVALUATION
from tests.unit.collectorfleet_operator.decide.queued import admitted, deactivate, label, queued, say, with_quota
from tests.unit.collectorfleet_operator.world import World, kinds, running, told

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import Reason
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide.situation import Refused

AGAIN = "set spec.suspend to true and back"
ANSWERED = {"spec.collectors.replicas": 1, "spec.workers.collectorsPerPod": 1}


def test_a_fleet_without_a_queue_says_nothing_of_quota() -> None:
    assert "Admitted" not in {one.type for one in running().look().conditions}


def test_a_queue_that_a_running_fleet_gets_does_not_count_it_yet() -> None:
    world = running()
    label(world)
    text = f"the fleet was started without a queue, so LocalQueue team does not count the fleet; {AGAIN}"
    assert told(world.look(), "Admitted") == ("False", "NotQueued", text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (ANSWERED, "1 worker pod"),
        ({}, "4 worker pods"),
        ({**ANSWERED, "spec.evaluation": {**EVALUATION, "replicas": 1}}, "1 worker pod and 1 evaluator pod"),
        ({"spec.evaluation": {**EVALUATION, "replicas": 2}}, "4 worker pods and 2 evaluator pods"),
    ],
    ids=["one pod", "four", "one of each", "more of each"],
)
def test_what_quota_is_for_is_counted_in_pods(changes: dict[str, Any], words: str) -> None:
    world = with_quota(changes)
    text = f"admitted by ClusterQueue lab with {words}"
    assert told(world.look(), "Admitted") == ("True", "Admitted", text)


def test_a_fleet_that_outgrew_its_quota_says_what_it_has_and_what_it_needs() -> None:
    world = admitted({"spec.collectors.replicas": 4})
    world.edit({"spec.collectors.replicas": 5})
    text = (
        "admitted by ClusterQueue lab with 4 worker pods, but the fleet needs 5 worker pods; Kueue admits only whole "
        f"fleets, so no more pods start; to request quota for all pods, {AGAIN}"
    )
    assert told(world.look(), "Admitted") == ("True", "AdmittedForFewer", text)
    world.edit({"spec.collectors.replicas": 4})
    assert told(world.look(), "Admitted")[1] == "Admitted"
    world.edit({"spec.collectors.replicas": 3})
    assert told(world.look(), "Admitted")[1] == "Admitted"


def test_quota_for_pods_of_an_old_template_says_how_to_count_the_new_ones() -> None:
    rolling = {"spec.updateStrategy": {"type": "RollingUpdate"}}
    world = admitted(rolling)
    world.edit({**rolling, "spec.workers.template": {"spec": {"nodeSelector": {"disk": "fast"}}}})
    assert kinds(world.carry_out()) == ["Update Job", "Update RayCluster"]
    text = (
        "admitted by ClusterQueue lab with 4 worker pods; the fleet's pod templates have changed since then; to have "
        f"Kueue count the changed pods, {AGAIN}"
    )
    assert told(world.look(), "Admitted") == ("True", "Admitted", text)


def test_quota_that_is_taken_back_is_told_with_kueues_reason() -> None:
    world = admitted()
    say(world, "Evicted", "True", "Preempted", "a workload of higher priority")
    text = "Kueue withdraws the fleet's quota (a workload of higher priority)"
    assert told(world.look(), "Admitted") == ("False", "QuotaTakenBack", text)


def test_a_fleet_that_waits_only_needs_time_and_one_without_kueue_needs_its_user() -> None:
    world = queued()
    waits = world.look()
    assert told(waits, "Admitted")[:2] == ("False", "WaitingForQuota")
    assert told(waits, "Admitted")[2].startswith("LocalQueue team: ")
    assert told(waits, "Stalled")[0] == "False"
    world = World()
    label(world)
    stuck = world.look(why_no_queues="the operator serves no queues")
    assert told(stuck, "Admitted") == ("False", "KueueMissing", "the operator serves no queues")
    assert told(stuck, "Stalled")[:2] == ("True", "KueueMissing")


@pytest.mark.parametrize(("is_retried", "stalled"), [(True, "False"), (False, "True")])
def test_a_workload_that_is_refused_is_told_and_stalls_a_fleet_that_cannot_try_again(
    is_retried: bool, stalled: str
) -> None:
    world = World()
    label(world)
    refused = Refused(WORKLOAD, Reason.REFUSED, "create Workload: forbidden", is_retried=is_retried)
    status = world.look(refused=[refused])
    assert told(status, "Admitted") == ("False", "Refused", "create Workload: forbidden")
    assert told(status, "Stalled")[0] == stalled


def test_a_priority_that_does_not_exist_needs_its_user() -> None:
    world = World()
    label(world, **{names.PRIORITY_LABEL: "urgent"})
    status = world.look()
    assert told(status, "Admitted")[:2] == ("False", "PriorityClassMissing")
    assert "urgent" in told(status, "Admitted")[2]
    assert told(status, "Stalled")[0] == "True"


def test_a_workload_that_kueue_deactivated_says_how_to_ask_again() -> None:
    world = queued()
    deactivate(world)
    status = world.look()
    assert told(status, "Admitted")[:2] == ("False", "WorkloadDeactivated")
    assert told(status, "Admitted")[2].startswith("LocalQueue team: ")
    assert told(status, "Admitted")[2].endswith(f"; to request quota again, correct the spec, or {AGAIN}")
    assert told(status, "Stalled")[0] == "True"
