"""How many offers of weights go out in a second."""

from __future__ import annotations

from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.collectors import Collectors
from collectorfleet.gather.state.offers import Pace
from collectorfleet.messages import CollectorId


def taken(pace: Pace, now: float) -> int:
    count = 0
    while pace.take(now):
        count += 1
    return count


def test_a_small_fleet_gets_all_of_its_offers_at_once_and_a_large_one_over_time() -> None:
    pace = Pace()
    assert taken(pace, 0.0) == 64
    assert taken(pace, 0.1) == 10
    assert taken(pace, 100.0) == 64  # unused offers are not saved up


def test_an_answer_earns_an_offer() -> None:
    pace = Pace()
    assert taken(pace, 0.0) == 64
    for _ in range(3):
        pace.answered()
    assert taken(pace, 0.0) == 3


def working(collectors: Collectors, name: str, since: float) -> Collector:
    """One that is built, was offered version 1, and works."""
    collectors.starting(CollectorId(name, 1), int(name[1:]), 0.0)
    one = collectors.named(name)
    assert one is not None
    collectors.built(one, "pod", 1, 0.0)
    collectors.offered(one, 1)
    collectors.applied(one, 1, 0.0)
    collectors.note_request(one, int(since), int(since), since)
    return one


def test_who_begins_its_next_rollout_first_comes_first_and_then_the_longest_behind() -> None:
    collectors = Collectors()
    for name, since in (("c1", 1.0), ("c2", 2.0), ("c0", 3.0)):
        working(collectors, name, since)
    offered = []
    while (one := collectors.next_to_offer(2)) is not None:
        offered.append(one.id.name)
        collectors.offered(one, 2)
    assert offered[0] == "c1"
    assert sorted(offered) == ["c0", "c1", "c2"]


def test_the_next_version_is_offered_to_the_same_one_again_while_it_works() -> None:
    collectors = Collectors()
    slow, _ = working(collectors, "c0", 1.0), working(collectors, "c1", 2.0)
    for version in (2, 3, 4):
        assert collectors.next_to_offer(version) is slow
        collectors.offered(slow, version)
    other = collectors.next_to_offer(4)
    assert other is not None
    assert other.id.name == "c1"
