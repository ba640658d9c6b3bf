"""Evaluators that start, are lost and start again."""

from __future__ import annotations

from collectorfleet.evaluation.state.evaluators import Evaluators
from collectorfleet.messages import CollectorId


def start(evaluators: Evaluators, now: float = 0.0) -> list[CollectorId]:
    return list(evaluators.to_start(now))


def lose(evaluators: Evaluators, name: str, now: float) -> None:
    evaluators.lost(next(one for one in evaluators.places if one.name == name), now)


def test_all_start_at_once_and_each_once() -> None:
    evaluators = Evaluators(2, 0.0)
    assert [str(one) for one in start(evaluators)] == ["e0", "e1"]
    assert start(evaluators) == []
    assert evaluators.restarts == 0


def test_only_those_that_are_built_and_have_nothing_to_do_can_play() -> None:
    evaluators = Evaluators(3, 0.0)
    start(evaluators)
    for one in evaluators.places[1:]:
        evaluators.built(one)
    evaluators.places[1].playing = 4
    assert [str(id_) for id_, _ in evaluators.idle()] == ["e2"]
    assert evaluators.available == 2


def test_the_first_loss_costs_no_pause_and_later_ones_double_it_up_to_a_minute() -> None:
    evaluators, now, pauses = Evaluators(1, 0.0), 0.0, []
    for _ in range(9):
        start(evaluators, now)
        lose(evaluators, "e0", now)
        pauses.append(evaluators.places[0].again_at - now)
        now = evaluators.places[0].again_at
    assert pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_an_evaluator_starts_again_once_its_pause_is_over() -> None:
    evaluators = Evaluators(1, 0.0)
    for now in (0.0, 0.0):
        start(evaluators, now)
        lose(evaluators, "e0", now)
    assert start(evaluators, 0.9) == []
    assert [one.incarnation for one in start(evaluators, 1.0)] == [3]


def test_an_episode_that_ended_makes_earlier_losses_count_no_more() -> None:
    evaluators = Evaluators(1, 0.0)
    for _ in range(4):
        start(evaluators, 100.0)
        lose(evaluators, "e0", 10.0)
    start(evaluators, 100.0)
    evaluators.worked(evaluators.places[0])
    lose(evaluators, "e0", 100.0)
    assert evaluators.places[0].again_at == 100.0


def test_an_evaluator_that_was_lost_ten_thousand_times_is_still_restarted_after_a_minute() -> None:
    evaluators = Evaluators(1, 0.0)
    for _ in range(10_000):
        lose(evaluators, "e0", 100.0)
    assert evaluators.places[0].again_at == 160.0


def test_restarts_are_counted_when_they_happen() -> None:
    evaluators = Evaluators(2, 0.0)
    start(evaluators)
    lose(evaluators, "e1", 0.0)
    assert evaluators.restarts == 0
    start(evaluators)
    assert evaluators.restarts == 1
    evaluators.worked(evaluators.places[1])
    lose(evaluators, "e1", 1.0)
    start(evaluators, 1.0)
    assert evaluators.restarts == 2


def test_an_incarnation_that_is_gone_is_not_found() -> None:
    evaluators = Evaluators(1, 0.0)
    (first,) = start(evaluators)
    lose(evaluators, "e0", 0.0)
    (second,) = start(evaluators)
    assert evaluators.find(first) is None
    assert evaluators.find(second) is evaluators.places[0]


def test_time_to_build_begins_once_there_is_a_process() -> None:
    evaluators = Evaluators(2, 0.0)
    start(evaluators)
    assert list(evaluators.too_long_building(1000.0, 60.0)) == []  # they wait for room
    for one in evaluators.places:
        one.placed_at = 1000.0
    evaluators.built(evaluators.places[0])
    assert list(evaluators.too_long_building(1060.0, 60.0)) == []
    assert [one.name for one in evaluators.too_long_building(1060.5, 60.0)] == ["e1"]


def test_nobody_is_available_since_the_last_one_was_lost() -> None:
    evaluators = Evaluators(2, 5.0)
    assert evaluators.unavailable_since == 5.0
    start(evaluators)
    for one in evaluators.places:
        evaluators.built(one)
    assert evaluators.unavailable_since is None
    lose(evaluators, "e0", 10.0)
    assert evaluators.unavailable_since is None
    lose(evaluators, "e1", 20.0)
    lose(evaluators, "e1", 30.0)
    assert evaluators.unavailable_since == 20.0
