"""Who lives, who is free, who is awaited: what is counted of collectors as things happen to them."""

from __future__ import annotations

import pytest

from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.collectors import Collectors
from collectorfleet.messages import CollectorId
from collectorfleet_api.v1alpha1 import CollectorState


def start(collectors: Collectors, name: str, now: float = 0.0, group: str | None = None) -> Collector:
    id_ = CollectorId(name, 1)
    collectors.starting(id_, int(name[1:]), now, group)
    found = collectors.find(id_)
    assert found is not None
    return found


def ready(collectors: Collectors, name: str, version: int = 1, now: float = 0.0, group: str | None = None) -> Collector:
    one = start(collectors, name, now, group)
    collectors.built(one, "pod", 7, now)
    collectors.applied(one, version, now)
    return one


def ask(collectors: Collectors, one: Collector, request: int, now: float = 0.0) -> None:
    collectors.note_request(one, request, request, now)


@pytest.fixture
def collectors() -> Collectors:
    return Collectors()


def test_only_the_incarnation_that_lives_is_found(collectors: Collectors) -> None:
    one = start(collectors, "c0")
    assert collectors.find(CollectorId("c0", 1)) is one
    assert collectors.find(CollectorId("c0", 2)) is None
    assert collectors.find(CollectorId("c1", 1)) is None
    assert (len(collectors), "c0" in collectors, "c1" in collectors, list(collectors)) == (1, True, False, [one])
    collectors.retired(one)
    assert collectors.find(CollectorId("c0", 1)) is collectors.named("c0") is None
    assert one.state is CollectorState.RETIRED


def test_built_ones_are_counted_before_and_after_their_first_weights(collectors: Collectors) -> None:
    one = start(collectors, "c0")
    assert (collectors.built_count, collectors.available) == (0, 0)
    collectors.built(one, "pod", 7, 0.0)
    assert (collectors.built_count, collectors.available) == (1, 0)
    collectors.applied(one, 1, 0.0)
    assert (collectors.built_count, collectors.available) == (1, 1)
    collectors.applied(one, 2, 0.0)
    assert (collectors.built_count, collectors.available, one.applied_version) == (1, 1, 2)
    collectors.retired(one)
    assert (collectors.built_count, collectors.available) == (0, 0)


def test_one_that_is_lost_before_its_first_weights_is_counted_no_more(collectors: Collectors) -> None:
    one = start(collectors, "c0")
    collectors.built(one, "pod", 7, 0.0)
    collectors.retired(one)
    assert (collectors.built_count, collectors.available, collectors.acknowledged) == (0, 0, None)


def test_a_version_is_acknowledged_once_the_last_available_one_has_it(collectors: Collectors) -> None:
    first, second, third = (ready(collectors, f"c{index}", version) for index, version in enumerate((3, 1, 1)))
    assert collectors.acknowledged == 1
    collectors.applied(second, 4, 0.0)
    assert collectors.acknowledged == 1
    collectors.applied(third, 5, 0.0)
    assert collectors.acknowledged == 3
    collectors.retired(first)
    assert collectors.acknowledged == 4
    collectors.retired(second)
    collectors.retired(third)
    assert collectors.acknowledged is None


def test_a_collector_takes_two_requests_and_none_while_it_drains(collectors: Collectors) -> None:
    one = ready(collectors, "c0")
    assert one.is_free
    ask(collectors, one, 1)
    assert one.is_free
    ask(collectors, one, 2)
    assert not one.is_free
    assert collectors.next_free(9) is None
    collectors.answered(one, 1, 0.0)
    assert collectors.next_free(9) is one
    collectors.drain("c0", draining=True)
    assert collectors.next_free(9) is None
    collectors.drain("c0", draining=False)
    assert collectors.next_free(9) is one
    collectors.drain("c9", draining=True)  # one that is not there


def test_the_least_busy_takes_the_next_share_and_of_those_who_was_asked_longest_ago(collectors: Collectors) -> None:
    first, second, third = (ready(collectors, f"c{index}") for index in range(3))
    order = []
    for request in range(6):
        one = collectors.next_free(request)
        assert one is not None
        order.append(one)
        ask(collectors, one, request)
    assert order == [first, second, third] * 2
    assert collectors.next_free(9) is None
    collectors.answered(second, 1, 0.0)
    assert collectors.next_free(9) is second


def test_one_without_a_share_of_the_admission_goes_before_one_that_is_less_busy(collectors: Collectors) -> None:
    first, second = ready(collectors, "c0"), ready(collectors, "c1")
    collectors.note_request(second, 1, 0, 0.0)
    collectors.note_request(first, 2, 1, 0.0)
    collectors.answered(first, 2, 0.0)
    # c0 is idle and has a share of admission 1; c1 has one request, of admission 0.
    assert collectors.next_free(1) is second
    assert collectors.next_free(2) is first


def test_collectors_with_a_request_are_busy_until_the_last_is_answered(collectors: Collectors) -> None:
    one, other = ready(collectors, "c0"), ready(collectors, "c1")
    ask(collectors, one, 1)
    ask(collectors, one, 2)
    ask(collectors, other, 3)
    assert collectors.busy == 2
    collectors.answered(one, 1, 5.0)
    assert (collectors.busy, one.working_since, one.answered) == (2, 5.0, 1)
    collectors.answered(one, 2, 6.0, readable=False)
    assert (collectors.busy, one.working_since, one.answered) == (1, None, 1)
    collectors.retired(other)
    assert (collectors.busy, other.working_since) == (0, None)


def test_who_works_longest_is_known_by_group_and_apart_for_first_requests(collectors: Collectors) -> None:
    old, new = ready(collectors, "c0", group="a"), ready(collectors, "c1", group="a")
    other = ready(collectors, "c2", group="b")
    assert collectors.groups == ["a", "b"]
    assert collectors.longest_at_work("a", first=True) is None
    assert collectors.longest_at_work("unheard of", first=True) is None
    ask(collectors, old, 1, 1.0)
    ask(collectors, new, 2, 2.0)
    ask(collectors, other, 3, 0.0)
    assert collectors.longest_at_work("a", first=True) is old
    assert collectors.longest_at_work("b", first=True) is other
    assert collectors.longest_at_work("a", first=False) is None
    collectors.answered(old, 1, 3.0)
    ask(collectors, old, 4, 3.0)
    assert collectors.longest_at_work("a", first=True) is new
    assert collectors.longest_at_work("a", first=False) is old
    collectors.retired(new)
    assert collectors.longest_at_work("a", first=True) is None


def test_who_builds_or_loads_its_first_weights_for_the_longest_is_known(collectors: Collectors) -> None:
    first, second = start(collectors, "c0"), start(collectors, "c1")
    assert collectors.longest_building() is None
    collectors.placed(first, "pod", "node", 1.0)
    collectors.placed(second, "pod", "node", 2.0)
    assert (first.pod, first.node, first.building_since) == ("pod", "node", 1.0)
    assert collectors.longest_building() is first
    collectors.built(first, "pod", 7, 3.0)
    assert collectors.longest_building() is second
    collectors.built(second, "pod", 7, 4.0)
    assert collectors.longest_building() is first
    collectors.applied(first, 1, 5.0)
    assert collectors.longest_building() is second
    collectors.retired(second)
    assert collectors.longest_building() is None


def test_a_place_that_is_told_late_changes_only_the_node(collectors: Collectors) -> None:
    one = ready(collectors, "c0")
    collectors.placed(one, "another", "node", 9.0)
    assert (one.pod, one.node, one.building_since) == ("pod", "node", None)


def test_a_fleet_that_starts_waits_ten_seconds_for_those_that_start_with_it(collectors: Collectors) -> None:
    start(collectors, "c1")
    assert not collectors.is_collector_starting(0.0)
    ready(collectors, "c0", now=5.0)
    assert collectors.is_collector_starting(14.9)
    assert not collectors.is_collector_starting(15.0)


def test_a_fleet_waits_for_nobody_once_all_that_started_with_it_are_ready_or_lost(collectors: Collectors) -> None:
    second, third = start(collectors, "c1"), start(collectors, "c2")
    ready(collectors, "c0")
    collectors.retired(second)
    assert collectors.is_collector_starting(1.0)
    collectors.built(third, "pod", 7, 1.0)
    collectors.applied(third, 1, 1.0)
    assert not collectors.is_collector_starting(1.0)


def test_a_replacement_is_awaited_only_while_it_loads_its_first_weights(collectors: Collectors) -> None:
    ready(collectors, "c0", now=0.0)
    one = start(collectors, "c1", now=1.0)
    assert not collectors.is_collector_starting(1.0)
    collectors.built(one, "pod", 7, 100.0)
    assert collectors.is_collector_starting(109.9)
    assert not collectors.is_collector_starting(110.0)


def test_weights_are_offered_first_to_who_works_longest_and_then_to_who_is_longest_behind(
    collectors: Collectors,
) -> None:
    first, second, third = (ready(collectors, f"c{index}") for index in range(3))
    ask(collectors, second, 1, 1.0)
    ask(collectors, third, 2, 2.0)
    order = []
    while (one := collectors.next_to_offer(5)) is not None:
        order.append(one)
        collectors.offered(one, 5)
    assert order[0] is second
    assert {one.id.name for one in order} == {"c0", "c1", "c2"}
    assert len(order) == 3
    collectors.answered(second, 1, 3.0)
    ask(collectors, second, 3, 3.0)
    # On a later request than c2, whose first one may take long.
    assert collectors.next_to_offer(6) is second
    collectors.retired(second)
    assert collectors.next_to_offer(6) is third
    assert collectors.next_to_offer(5) is None
    assert first.offered_version == 5


def test_of_two_groups_who_works_longest_is_offered_first(collectors: Collectors) -> None:
    late, early = ready(collectors, "c0", group="a"), ready(collectors, "c1", group="b")
    ask(collectors, late, 1, 5.0)
    ask(collectors, early, 2, 4.0)
    assert collectors.next_to_offer(2) is early


def test_one_that_was_just_built_is_offered_before_those_that_wait(collectors: Collectors) -> None:
    waits = ready(collectors, "c0")
    one = start(collectors, "c1")
    collectors.built(one, "pod", 7, 0.0)
    assert collectors.next_to_offer(1) is one
    collectors.offered(one, 1)
    assert collectors.next_to_offer(1) is waits


def test_an_hour_of_work_leaves_no_places_of_the_past(collectors: Collectors) -> None:
    busy, _idle = ready(collectors, "c0"), ready(collectors, "c1")
    for request in range(1000):
        ask(collectors, busy, request)
        collectors.answered(busy, request, 0.0)
    assert sum(map(len, collectors._free)) < 20
