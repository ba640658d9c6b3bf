"""Which collectors there are to be, and when those that were lost are started again."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.gather.state.slots import Slots
from collectorfleet.messages import Fault
from collectorfleet.recovery.failure import GiveUp, Loss, Replace
from collectorfleet.scaling import EmptyWholePods

AFTER_A_PAUSE = Replace(timedelta(seconds=10), "it died")


def lose(slots: Slots, name: str, decision: Replace | GiveUp = AFTER_A_PAUSE, now: float = 0.0) -> Loss:
    loss = slots.lost(name, "it died", Fault.DIED, now)
    slots.decided(name, decision, now)
    return loss


@pytest.fixture
def slots() -> Slots:
    return Slots(3)


def filled(slots: Slots, now: float = 0.0) -> list[str]:
    return [slot.name for slot in slots.to_fill(now)]


def test_all_are_filled_once(slots: Slots) -> None:
    assert filled(slots) == ["c0", "c1", "c2"]
    assert filled(slots) == []


def test_a_lost_one_is_filled_again_after_its_pause_and_counted(slots: Slots) -> None:
    filled(slots)
    lose(slots, "c1", now=5.0)
    assert slots.by_name["c1"].lost
    assert filled(slots, 14.9) == []
    assert filled(slots, 15.0) == ["c1"]
    assert (slots.restarts, slots.by_name["c1"].restarts, slots.by_name["c1"].lost) == (1, 1, False)
    assert slots.first_cause == "c1: it died"


def test_one_that_is_given_up_stays_empty(slots: Slots) -> None:
    filled(slots)
    lose(slots, "c1", GiveUp("it died"))
    assert slots.by_name["c1"].given_up
    assert slots.given_up == 1
    assert filled(slots, 1e9) == []
    slots.resize(2, {"c0": "a", "c2": "a"}, EmptyWholePods())
    assert list(slots.leaving) == ["c1"]  # what does not run leaves first
    assert slots.given_up == 0


def test_a_lost_node_does_not_use_up_the_budget(slots: Slots) -> None:
    filled(slots)
    slots.lost("c0", "its node died", Fault.NODE_LOST, now=0.0)
    assert slots.by_name["c0"].charges == []


def test_one_that_leaves_is_not_filled_and_stays_after_all_if_the_fleet_grows_in_time(slots: Slots) -> None:
    filled(slots)
    slots.resize(2, {"c0": "a", "c1": "a", "c2": "b"}, EmptyWholePods())
    assert list(slots.leaving) == ["c2"]
    lose(slots, "c2")
    assert filled(slots, 20.0) == []
    slots.resize(3, {}, EmptyWholePods())
    assert (slots.desired, list(slots.leaving)) == (3, [])
    assert filled(slots, 20.0) == ["c2"]


def test_the_lowest_free_names_are_taken_when_the_fleet_grows(slots: Slots) -> None:
    filled(slots)
    slots.resize(2, {"c0": "a", "c1": "b", "c2": "a"}, EmptyWholePods())
    slots.left("c1")
    slots.resize(4, {}, EmptyWholePods())
    assert filled(slots) == ["c1", "c3"]


@pytest.mark.parametrize(
    ("lived", "answers", "counted"), [(600, 1, [0, 1, 0]), (599, 1, [0, 1, 2]), (6000, 0, [0, 1, 2])]
)
def test_ten_minutes_of_work_give_the_budget_back(slots: Slots, lived: float, answers: int, counted: list[int]) -> None:
    restarts, now = [], 0.0
    for seconds, batches in ((1, 0), (1, 0), (lived, answers)):
        filled(slots, now)
        slots.by_name["c1"].batches += batches
        now += seconds
        restarts.append(lose(slots, "c1", Replace(timedelta(0), "it died"), now).restarts)
    assert restarts == counted


def test_what_was_lost_with_a_node_that_is_found_dead_later_costs_nothing(slots: Slots) -> None:
    filled(slots)
    for name, node in (("c0", "here"), ("c1", "gone"), ("c2", None)):
        slots.lost(name, "ActorUnavailableError: Socket closed", Fault.DIED, 10.0, node)
        slots.decided(name, AFTER_A_PAUSE, 10.0)
    assert [slot.name for slot in slots.node_died("gone", 60.0)] == ["c1"]
    assert [len(slot.charges) for slot in slots.in_order()] == [1, 0, 1]
    assert slots.by_name["c1"].last_error == "its node died; ActorUnavailableError: Socket closed"
    # What is lost on it from now on is known to be.
    filled(slots, 20.0)
    assert slots.lost("c1", "no batch within 60 s", Fault.HUNG, 70.0, "gone").fault is Fault.NODE_LOST
    assert slots.by_name["c1"].charges == []


def test_the_deaths_of_the_last_256_nodes_are_known(slots: Slots) -> None:
    filled(slots)
    for number in range(257):
        slots.node_died(f"node-{number}", 0.0)
    faults = [slots.lost(f"c{number}", "it died", Fault.DIED, 1.0, f"node-{number}").fault for number in range(2)]
    assert faults == [Fault.DIED, Fault.NODE_LOST]


def test_what_was_lost_on_a_node_long_before_it_died_was_not_lost_with_it(slots: Slots) -> None:
    filled(slots)
    slots.lost("c0", "it died", Fault.DIED, 10.0, "node")
    slots.decided("c0", AFTER_A_PAUSE, 10.0)
    assert slots.node_died("node", 1000.0) == []
    assert len(slots.by_name["c0"].charges) == 1


def test_one_that_was_given_up_for_the_loss_of_its_node_is_filled_again(slots: Slots) -> None:
    filled(slots)
    slots.lost("c0", "Socket closed", Fault.DIED, 10.0, "node")
    slots.decided("c0", GiveUp("it was the last of its restarts"), 10.0)
    assert filled(slots, 11.0) == []
    slots.node_died("node", 20.0)
    assert slots.given_up == 0
    assert filled(slots, 20.0) == ["c0"]


def test_the_slot_of_a_drained_pod_is_filled_as_soon_as_the_pod_is_no_longer_drained(slots: Slots) -> None:
    filled(slots)
    slots.drained("c1", "pod-a")
    slots.drained("c2", "pod-b")
    slots.set_draining_pods(["pod-a", "pod-b"])
    assert (filled(slots), slots.expected_count) == ([], 1)
    slots.set_draining_pods(["pod-b"])
    assert (filled(slots), slots.expected_count, slots.restarts) == (["c1"], 2, 0)


# ---------------------------------------------------------------- groups
def of_group(slots: Slots, group: str) -> list[str]:
    return [slot.name for slot in slots.in_order() if slot.group == group and not slot.leaving]


def test_slots_are_of_groups_in_turn() -> None:
    slots = Slots(6, ["fast", "big", "fast"])
    assert of_group(slots, "fast") == ["c0", "c2", "c3", "c5"]
    assert of_group(slots, "big") == ["c1", "c4"]
    assert (slots.desired, slots.groups) == (6, ["fast", "big"])


def test_a_smaller_fleet_takes_from_each_group_what_is_too_many_there() -> None:
    slots = Slots(6, ["fast", "big", "fast"])
    pods = {"c0": "f1", "c2": "f1", "c3": "f2", "c5": "f1", "c1": "b1", "c4": "b2"}
    leaving = slots.resize(3, pods, EmptyWholePods())
    # Whole pods of each group become empty, and not those with the highest numbers.
    assert leaving == ["c3", "c5", "c4"]
    for name in leaving:
        slots.left(name)
    assert of_group(slots, "fast") == ["c0", "c2"]
    # What is added is of the group that lacks it, by a name that is that group's at every size.
    slots.resize(5, {}, EmptyWholePods())
    assert of_group(slots, "fast") == ["c0", "c2", "c3"]
    assert of_group(slots, "big") == ["c1", "c4"]


@given(
    turns=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    gone=st.booleans(),
)
def test_at_every_size_groups_have_what_their_turns_say(turns: list[str], sizes: list[int], gone: bool) -> None:
    slots = Slots(sizes[0], turns)
    for size in sizes:
        for name in slots.resize(size, {}, EmptyWholePods()):
            if gone:
                slots.left(name)
        assert slots.desired == size
        counted = Counter(turns[index % len(turns)] for index in range(size))
        assert {group: len(of_group(slots, group)) for group in set(turns)} == {
            group: counted[group] for group in set(turns)
        }
        assert all(slot.group == slots.group_of(slot.index) for slot in slots.in_order())
