"""What counts as a result of an evaluation, and what as a failure."""

from __future__ import annotations

from math import inf, nan

import pytest
from tests.unit.collectorfleet.evaluation.evaluated import NOW, Evaluated, candidate


def test_an_evaluation_that_takes_too_long_fails_and_says_how_far_it_was() -> None:
    state = Evaluated(episodes=3)
    state.due(candidate(4))
    (play,) = state.sent(now=10.0)
    state.loads(play.evaluator, 4)
    state.answers(play)
    assert state.drop_if_timed_out(110.0) is None
    assert state.drop_if_timed_out(110.5) == (
        "version 4: 1 of 3 episodes ended within 100 s; play fewer episodes, limit their length, or allow more time"
    )
    assert (state.failed, state.finished, state.idle) == (1, 0, True)


def test_answers_of_a_failed_evaluation_count_in_no_other() -> None:
    state = Evaluated(episodes=1, replicas=2)
    state.due(candidate(1))
    (late,) = state.sent()
    assert state.drop_if_timed_out(101.0)
    state.due(candidate(2))
    plays = state.sent(101.0)
    state.loads(late.evaluator, 1)
    state.answers(late, 99.0)
    assert state.result(101.0, NOW) is None
    state.loads(plays[0].evaluator, 2)
    state.answers(plays[0], 1.0)
    found = state.result(101.0, NOW)
    assert found is not None
    assert (found.version, found.returns) == (2, (1.0,))


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_a_return_that_is_no_number_fails_the_evaluation(value: float) -> None:
    state = Evaluated(episodes=2)
    state.due(candidate(3))
    (first,) = state.sent()
    state.loads(first.evaluator, 3)
    state.answers(first, 1.0)
    (second,) = state.sent()
    state.answers(second, value)
    assert (
        state.drop_if_not_finite()
        == f"version 3: the return of episode 1 is {value}; look for rewards that are not finite"
    )
    assert (state.failed, state.idle, state.best, state.result(0.0, NOW)) == (1, True, None, None)


def test_finite_returns_are_no_failure() -> None:
    state = Evaluated(episodes=1)
    state.due(candidate(3))
    (play,) = state.sent()
    assert state.drop_if_not_finite() is None
    state.loads(play.evaluator, 3)
    state.answers(play)
    assert state.drop_if_not_finite() is None
    assert state.result(0.0, NOW) is not None


def test_the_end_waits_for_no_evaluator_that_never_comes() -> None:
    state = Evaluated()
    state.lost(state.named("e0"), "OutOfMemory: no memory left", 10.0)
    assert state.why_evaluators_unavailable(1000.0) is None  # nothing is due
    state.run_ended(candidate(1))
    assert state.why_evaluators_unavailable(60.0) is None
    assert state.why_evaluators_unavailable(61.0) == (
        "the last version was not evaluated: none of 1 evaluators has been available for 51 s; "
        "evaluator e0: OutOfMemory: no memory left"
    )


def test_the_best_version_is_the_first_with_the_highest_mean() -> None:
    state = Evaluated()
    for version, value in enumerate([1.0, 3.0, 2.0, 3.0], 1):
        state.due(candidate(version))
        assert state.play(value)
    assert state.best is not None
    assert (state.best.version, state.best.mean) == (2, 3.0)
    assert state.newest is not None
    assert state.newest.version == 4


@pytest.mark.parametrize(("value", "reached"), [(9.9, False), (10.0, True), (12.0, True)])
def test_the_goal_is_reached_at_its_return(value: float, reached: bool) -> None:
    state = Evaluated(stop_at_return=10.0)
    state.due(candidate(1))
    state.play(value)
    assert state.reached is reached


def test_a_goal_stays_reached_when_later_versions_are_worse() -> None:
    state = Evaluated(stop_at_return=10.0)
    for version, value in enumerate([11.0, 1.0], 1):
        state.due(candidate(version))
        state.play(value)
    assert state.reached


def test_a_result_says_when_its_version_was_published_and_how_long_it_took() -> None:
    state = Evaluated(episodes=1)
    state.due(candidate(1, frames=640))
    (play,) = state.sent(now=5.0)
    state.loads(play.evaluator, 1)
    state.answers(play, length=17)
    found = state.result(7.5, NOW)
    assert found is not None
    assert (found.frames, found.seconds, found.lengths, found.time) == (640, 2.5, (17,), NOW)


def test_a_later_run_goes_on_from_the_counts_and_results() -> None:
    state = Evaluated()
    for version, value in enumerate([3.0, 2.0], 1):
        state.due(candidate(version))
        state.play(value)
    later = Evaluated()
    later.restored(state.kept())
    assert (later.finished, later.failed, later.skipped) == (2, 0, 0)
    assert (later.newest, later.best) == (state.newest, state.best)
    later.run_ended(candidate(2))
    assert later.idle  # it was evaluated before the checkpoint


def test_a_later_run_of_other_episodes_goes_on_from_the_counts_alone() -> None:
    state = Evaluated(measure="2 episodes of Easy")
    state.due(candidate(1))
    state.play(3.0)
    later = Evaluated(measure="2 episodes of Hard")
    later.restored(state.kept())
    assert (later.finished, later.newest, later.best) == (1, None, None)


def test_a_goal_that_was_reached_is_reached_in_a_later_run() -> None:
    state = Evaluated(stop_at_return=3.0)
    state.due(candidate(1))
    state.play(3.0)
    for goal, reached in ((3.0, True), (4.0, False), (None, False)):
        later = Evaluated(stop_at_return=goal)
        later.restored(state.kept())
        assert later.reached is reached
