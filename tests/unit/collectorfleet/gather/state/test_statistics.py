"""Counts and rates, on a played clock."""

from __future__ import annotations

from datetime import UTC, datetime
from math import nan

from collectorfleet.gather.state.statistics import Statistics
from collectorfleet.messages import Episodes

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_the_newest_hundred_episodes_are_remembered_but_for_returns_that_are_no_numbers() -> None:
    statistics = Statistics()
    statistics.ended(Episodes(tuple(map(float, range(150))), tuple(range(1, 151))))
    statistics.ended(Episodes((nan, 7.0), (3, 4)))
    assert statistics.episodes == 152
    assert list(statistics.returns) == [*map(float, range(51, 150)), 7.0]
    assert list(statistics.lengths) == [*range(53, 151), 3, 4]


def test_an_hour_without_a_look_is_not_remembered() -> None:
    statistics = Statistics()
    for batch in range(36_000):
        statistics.handed_out(10, 0, batch / 10, NOON)
    assert statistics.remembered <= 301
    assert statistics.frames_per_second(3599.9) == 100.0
    assert (statistics.batches, statistics.frames_handed_out) == (36_000, 360_000)


def test_a_resumed_run_counts_on_and_has_a_rate_after_its_second_batch() -> None:
    statistics = Statistics()
    statistics.restore(500, 5)
    assert (statistics.frames_collected, statistics.frames_handed_out, statistics.batches) == (500, 500, 5)
    statistics.handed_out(10, 0, 100.0, NOON)
    assert (statistics.batches, statistics.frames_per_second(101.0)) == (6, None)
    statistics.handed_out(30, 0, 104.0, NOON)
    assert statistics.frames_per_second(104.0) == 30 / 4


def test_the_rate_is_of_the_last_30_seconds_and_of_no_batch_that_began_before() -> None:
    statistics = Statistics()
    assert statistics.frames_per_second(0.0) is None
    for at, frames in ((0.0, 1000), (10.0, 200), (40.0, 400)):
        statistics.handed_out(frames, 0, at, NOON)
    assert statistics.frames_per_second(20.0 + 20.0) == 400 / 30
    assert statistics.frames_per_second(60.0) == 400 / 30
    assert statistics.frames_per_second(70.0) == 0.0


def test_at_the_moment_of_the_first_batch_there_is_no_rate_yet() -> None:
    statistics = Statistics()
    for _ in range(2):
        statistics.handed_out(10, 0, 5.0, NOON)
    assert statistics.frames_per_second(5.0) is None
    assert statistics.driver_idle_ratio(5.0) is None


def test_frames_that_came_too_late_are_collected_and_not_handed_out() -> None:
    statistics = Statistics()
    statistics.collected(30, pickled=2)
    statistics.came_too_late(10)
    statistics.collected(5, pickled=1)
    assert (statistics.frames_collected, statistics.frames_too_late, statistics.pickled) == (45, 10, 3)
    assert statistics.frames_handed_out == 0


def test_the_newest_hundred_stalenesses_and_the_time_of_the_last_batch_are_remembered() -> None:
    statistics = Statistics()
    for staleness in range(101):
        statistics.handed_out(1, staleness, float(staleness), NOON.replace(minute=staleness % 60))
    assert list(statistics.stalenesses) == list(range(1, 101))
    assert statistics.last_batch_time == NOON.replace(minute=40)


def test_the_driver_is_idle_while_it_waits_but_not_for_the_first_batch() -> None:
    statistics = Statistics()
    assert statistics.driver_idle_ratio(1.0) is None
    statistics.waited(100.0)
    statistics.handed_out(1, 0, 100.0, NOON)
    statistics.waited(50.0)
    assert statistics.driver_idle_ratio(110.0) == 0.0
    statistics.handed_out(1, 0, 110.0, NOON)
    statistics.waited(5.0)
    assert statistics.driver_idle_ratio(120.0) == 5.0 / 20.0
    statistics.waited(500.0)
    assert statistics.driver_idle_ratio(120.0) == 1.0


def test_seconds_in_which_the_bound_held_back_add_up() -> None:
    statistics = Statistics()
    for held_back, now in ((False, 1.0), (True, 2.0), (True, 5.0), (False, 7.0), (False, 20.0), (True, 30.0)):
        statistics.throttled(held_back, now)
    assert statistics.throttled_seconds == 5.0


def test_collectors_are_idle_for_the_share_of_their_time_without_a_request() -> None:
    statistics = Statistics()
    assert statistics.collector_idle_ratio() is None
    statistics.occupied(4, 4, 10.0)
    assert statistics.collector_idle_ratio() is None
    statistics.occupied(4, 1, 20.0)
    statistics.occupied(2, 2, 30.0)
    assert statistics.collector_idle_ratio() == round(1 - (40 + 10) / 80, 3)
    statistics.occupied(0, 0, 40.0)
    assert statistics.collector_idle_ratio() == 0.3
