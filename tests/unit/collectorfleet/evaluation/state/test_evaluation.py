"""Which versions are evaluated and which are skipped, and which episodes count."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet.evaluation.evaluated import NOW, Evaluated, candidate


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
    assert state.drop_if_timed_out(101.0)
    state.run_ended(candidate(7))
    assert state.idle


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
    assert state.drop_if_timed_out(101.0)
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
    assert state.drop_if_timed_out(101.0)
    state.due(candidate(2))
    state.sent(101.0)
    assert state.loads(first.evaluator, 1)
    assert state.named("e0").loaded is None


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
