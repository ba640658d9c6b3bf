"""Which versions are evaluated and which are skipped, what counts as a result, and what as a failure."""

from __future__ import annotations

from math import inf, nan

import pytest
from tests.unit.collectorfleet.evaluation.evaluated import NOW, Evaluated, candidate


# ---------------------------------------------------------------- versions
def test_a_version_that_waits_gives_its_place_to_a_newer_one_and_counts_as_skipped() -> None:
    state = Evaluated()
    state.due(candidate(1))
    state.sent()
    for version in (2, 3, 4):
        state.due(candidate(version))
    assert state.skipped == 2
    assert state.running is not None
    assert state.running.candidate.version == 1
    assert state.pending is not None
    assert state.pending.version == 4


def test_an_evaluation_plays_one_version_whatever_is_published_meanwhile() -> None:
    state = Evaluated(episodes=5)
    state.due(candidate(1))
    versions = set()
    for newer in range(2, 7):
        (play,) = state.sent()
        versions.add(play.request.version)
        state.due(candidate(newer))
        state.loads(play.evaluator, 1)
        state.answers(play)
    found = state.result(0.0, NOW)
    assert found is not None
    assert (found.version, versions) == (1, {1})


def test_weights_are_sent_once_for_each_version_and_evaluator() -> None:
    state = Evaluated(episodes=4, replicas=2)
    state.due(candidate(1))
    first = state.sent()
    assert [play.weights is not None for play in first] == [True, True]
    for play in first:
        state.loads(play.evaluator, 1)
        state.answers(play)
    assert [play.weights for play in state.sent()] == [None, None]


def test_episodes_begin_with_the_seeds_in_turn() -> None:
    state = Evaluated(episodes=3, replicas=3, seeds=(5, 7))
    state.due(candidate(1))
    seeds = [play.request.seed for play in state.sent()]
    assert seeds[:2] == [5, 7]
    assert seeds[2] not in (5, 7, None)


def test_the_last_version_is_evaluated_whatever_the_interval_says() -> None:
    state = Evaluated()
    state.run_ended(candidate(7))
    found = state.play()
    assert found is not None
    assert found.version == 7


@pytest.mark.parametrize("when", ["waits", "is being played", "has a result"])
def test_the_last_version_is_evaluated_once(when: str) -> None:
    state = Evaluated()
    state.due(candidate(7))
    if when == "is being played":
        (play,) = state.sent()
        state.run_ended(candidate(7))
        state.loads(play.evaluator, 7)
        state.answers(play)
    if when == "has a result":
        state.play()
    state.run_ended(candidate(7))
    state.play()
    assert state.idle
    assert (state.finished, state.skipped) == (1, 0)


def test_a_last_version_whose_evaluation_failed_is_not_tried_for_ever() -> None:
    state = Evaluated()
    state.due(candidate(7))
    state.sent()
    assert state.out_of_time(101.0)
    state.run_ended(candidate(7))
    assert state.idle


# ---------------------------------------------------------------- proof
def test_an_episode_counts_once_its_evaluator_has_proven_the_weights() -> None:
    state = Evaluated(episodes=1)
    state.due(candidate(1))
    (play,) = state.sent()
    state.answers(play)
    assert state.result(0.0, NOW) is None
    assert state.loads(play.evaluator, 1)
    assert state.result(0.0, NOW) is not None


def test_an_evaluator_that_loaded_something_else_is_found_out_and_its_episodes_are_played_again() -> None:
    state = Evaluated(episodes=1)
    state.due(candidate(1))
    (play,) = state.sent()
    state.answers(play, 99.0)
    assert not state.loads(play.evaluator, 1, "another digest")
    state.lost(state.named("e0"), "WeightsNotApplied", 0.0)
    assert state.result(0.0, NOW) is None
    state.start()
    found = state.play(1.0)
    assert found is not None
    assert found.returns == (1.0,)


def test_a_version_that_was_proven_too_late_for_its_first_evaluation_counts_in_another() -> None:
    # e0 has played and waits, e1 hangs, and the acknowledgement of e0 comes after the evaluation has failed.
    state = Evaluated(replicas=2, episodes=2)
    state.due(candidate(1))
    first, second = state.sent()
    state.answers(first)
    assert state.out_of_time(101.0)
    state.lost(state.named("e1"), "Hung", 101.0)
    assert state.loads(first.evaluator, 1)
    state.due(candidate(1))
    assert state.play(now=101.0) is not None
    assert second.evaluator != first.evaluator


def test_a_late_acknowledgement_of_an_older_version_is_no_fault() -> None:
    state = Evaluated(replicas=2)
    state.due(candidate(1))
    first, _ = state.sent()
    state.answers(first)
    assert state.out_of_time(101.0)
    state.due(candidate(2))
    state.sent(101.0)
    assert state.loads(first.evaluator, 1)
    assert state.named("e0").loaded is None


# ---------------------------------------------------------------- losses
def test_what_a_lost_evaluator_played_is_played_again_with_the_same_seed() -> None:
    state = Evaluated(episodes=2)
    state.due(candidate(1))
    (lost,) = state.sent()
    state.lost(state.named("e0"), "it was killed", 0.0)
    assert state.last_failure == "evaluator e0: it was killed"
    state.start()
    (again,) = state.sent()
    assert (again.request.seed, again.evaluator) == (lost.request.seed, state.named("e0").id)
    assert again.weights is not None  # the new one has none


def test_episodes_whose_weights_were_not_proven_are_lost_with_their_evaluator() -> None:
    state = Evaluated(episodes=2)
    state.due(candidate(1))
    (first,) = state.sent()
    state.answers(first, 99.0)
    (second,) = state.sent()
    state.lost(state.named("e0"), "it was killed", 0.0)
    state.start()
    found = state.play(1.0)
    assert found is not None
    assert found.returns == (1.0, 1.0)
    assert first.request.seed != second.request.seed


def test_proven_episodes_survive_their_evaluator() -> None:
    state = Evaluated(episodes=2)
    state.due(candidate(1))
    (first,) = state.sent()
    state.loads(first.evaluator, 1)
    state.answers(first, 5.0)
    state.lost(state.named("e0"), "it was killed", 0.0)
    state.start()
    found = state.play(1.0)
    assert found is not None
    assert found.returns == (5.0, 1.0)


# ---------------------------------------------------------------- failures
def test_an_evaluation_that_takes_too_long_fails_and_says_how_far_it_was() -> None:
    state = Evaluated(episodes=3)
    state.due(candidate(4))
    (play,) = state.sent(now=10.0)
    state.loads(play.evaluator, 4)
    state.answers(play)
    assert state.out_of_time(110.0) is None
    assert state.out_of_time(110.5) == (
        "version 4: 1 of 3 episodes ended within 100 s; play fewer episodes, limit their length, or allow more time"
    )
    assert (state.failed, state.finished, state.idle) == (1, 0, True)


def test_answers_of_a_failed_evaluation_count_in_no_other() -> None:
    state = Evaluated(episodes=1, replicas=2)
    state.due(candidate(1))
    (late,) = state.sent()
    assert state.out_of_time(101.0)
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
    assert state.not_finite() == f"version 3: the return of episode 1 is {value}; look for rewards that are not finite"
    assert (state.failed, state.idle, state.best, state.result(0.0, NOW)) == (1, True, None, None)


def test_finite_returns_are_no_failure() -> None:
    state = Evaluated(episodes=1)
    state.due(candidate(3))
    (play,) = state.sent()
    assert state.not_finite() is None
    state.loads(play.evaluator, 3)
    state.answers(play)
    assert state.not_finite() is None
    assert state.result(0.0, NOW) is not None


def test_the_end_waits_for_no_evaluator_that_never_comes() -> None:
    state = Evaluated()
    state.lost(state.named("e0"), "OutOfMemory: no memory left", 10.0)
    assert state.nobody_comes(1000.0) is None  # nothing is due
    state.run_ended(candidate(1))
    assert state.nobody_comes(60.0) is None
    assert state.nobody_comes(61.0) == (
        "the last version was not evaluated: none of 1 evaluators has been available for 51 s; "
        "evaluator e0: OutOfMemory: no memory left"
    )


# ---------------------------------------------------------------- results
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
