"""Whether a fleet runs in a queue of Kueue: it starts only with quota, and does not run on without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.collectorfleet_operator.decide.queued import SPOT, admit, admitted, label, say, unlabel
from tests.unit.collectorfleet_operator.steps import STEPS, take
from tests.unit.collectorfleet_operator.world import KEY, World, running, told

from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.children.workload import WORKLOAD
from collectorfleet_operator.decide import queue
from collectorfleet_operator.decide.actions import Action, Create, Delete, SetStatus
from collectorfleet_operator.decide.workload import RESERVED
from collectorfleet_operator.objects import has_condition

NOT_ENABLED = "the operator serves no queues"


def test_a_run_that_began_without_a_queue_goes_on_and_says_that_it_is_in_none() -> None:
    world = running()
    label(world)
    assert world.plan().actions == ()
    status = world.look()
    assert told(status, "Admitted")[:2] == ("False", "NotQueued")
    assert told(status, "Ready")[0] == "True"


def test_a_run_stays_in_its_queue_when_the_label_is_taken_off() -> None:
    world = admitted()
    unlabel(world)
    assert world.plan().actions == ()
    assert told(world.look(), "Admitted")[0] == "True"


def test_a_fleet_with_a_queue_waits_for_somebody_to_install_kueue() -> None:
    world = World()
    label(world)
    assert world.plan(why_no_queues=NOT_ENABLED).actions == ()


def test_a_kueue_that_is_away_takes_nothing_back() -> None:
    world = admitted()
    assert world.plan(why_no_queues=NOT_ENABLED).actions == ()
    assert told(world.look(why_no_queues=NOT_ENABLED), "Ready")[0] == "True"


def test_a_fleet_without_a_queue_has_no_workload() -> None:
    world = running()
    assert world.cache.get(WORKLOAD, KEY) is None


KUEUE_STEPS = st.sampled_from(["admit", "evict", "delete", "unlabel", "label"])


def take_or_say(world: World, what: str, *values: Any) -> None:
    """Take a step of Kueue or of a user who changes the queue; take any other step with :func:`take`."""
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
            unlabel(world)
        case _:
            take(world, what, *values)


def gives_back(actions: Sequence[Action]) -> bool:
    """Return whether these actions let Kueue give the fleet's quota to another Workload."""
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
