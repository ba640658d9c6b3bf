"""The evaluation as the status has it."""

from __future__ import annotations

import json

from tests.unit.collectorfleet.evaluation.evaluated import NOW, Evaluated, candidate

from collectorfleet.evaluation.result import EpisodeVideo, EvaluationResult
from collectorfleet.evaluation.state.videos import VideoPlan
from collectorfleet.fleet.evaluation_status import _status, summary
from collectorfleet_api.v1alpha1 import VideoStatus


def result(*returns: float) -> EvaluationResult:
    return EvaluationResult(7, 640, returns, tuple(range(10, 10 + len(returns))), 1.23456, NOW)


def test_before_the_first_result_there_are_counts_and_no_numbers() -> None:
    state = Evaluated(replicas=2)
    state.due(candidate(3))
    state.sent()
    found = _status(state)
    assert (found.version, found.return_mean, found.best, found.summary) == (None, None, None, None)
    assert (found.running_version, found.replicas, found.available, found.finished) == (3, 2, 2, 0)
    assert (found.stopped, found.last_failure) == (None, None)


def test_the_last_version_is_awaited_until_its_evaluation_has_ended() -> None:
    state = Evaluated()
    state.due(candidate(3))
    assert _status(state).awaited_version is None
    state.run_ended(candidate(4))
    assert _status(state).awaited_version == 4
    state.play()
    assert _status(state).awaited_version is None


def test_no_version_is_awaited_if_training_continues_after_a_finished_evaluation() -> None:
    state = Evaluated()
    state.run_ended(candidate(3))
    state.play()
    state.due(candidate(4))
    assert _status(state).awaited_version is None
    state.run_ended(candidate(5))
    assert _status(state).awaited_version == 5


def test_a_last_version_that_is_evaluated_already_is_not_awaited() -> None:
    state = Evaluated()
    state.due(candidate(3))
    state.play()
    state.run_ended(candidate(3))
    assert _status(state).awaited_version is None


def test_the_newest_result_and_the_best_are_shown() -> None:
    state = Evaluated()
    for version, value in ((1, 8.0), (2, 3.0)):
        state.due(candidate(version, frames=100 * version))
        state.play(value)
    found = _status(state)
    assert (found.version, found.frames, found.return_mean, found.episodes) == (2, 200, 3.0, 2)
    assert found.best is not None
    assert (found.best.version, found.best.frames, found.best.return_mean) == (1, 100, 8.0)
    assert (found.finished, found.running_version) == (2, None)


def test_the_spread_of_returns_and_lengths_is_shown() -> None:
    state = Evaluated()
    state.newest = result(1.0, 2.0, 3.0, 4.0, 5.0)
    found = _status(state)
    quartiles = (found.return_min, found.return_lower_quartile, found.return_median, found.return_upper_quartile)
    assert (*quartiles, found.return_max) == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert (found.length_mean, found.length_min, found.length_max) == (12.0, 10, 14)
    assert (found.return_standard_error, found.seconds) == (0.707107, 1.235)


def test_one_episode_has_a_mean_without_a_standard_error() -> None:
    assert summary(result(471.23456)) == "471.2"
    state = Evaluated()
    state.newest = result(471.23456)
    assert _status(state).return_standard_error is None


def test_the_column_shows_mean_and_standard_error() -> None:
    assert summary(result(400.0, 500.0, 450.0)) == "450 ±29"


def test_a_reached_goal_is_said() -> None:
    state = Evaluated(stop_at_return=5.0)
    state.due(candidate(1))
    state.play(6.0)
    assert _status(state).stopped is True


def test_a_long_failure_is_cut() -> None:
    state = Evaluated()
    state.lost(state.named("e0"), "x" * 5000, 0.0)
    failure = _status(state).last_failure
    assert failure is not None
    assert (len(failure), failure[-3:]) == (300, "...")


def test_the_status_stays_json_when_rewards_are_no_numbers() -> None:
    state = Evaluated(episodes=1)
    state.due(candidate(1))
    (play,) = state.sent()
    state.loads(play.evaluator, 1)
    state.answers(play, float("nan"))
    assert state.drop_if_not_finite()
    written = _status(state).model_dump_json(by_alias=True, exclude_none=True)
    assert "NaN" not in written
    assert json.loads(written)["failed"] == 1


def test_the_status_has_the_version_of_the_newest_video_and_why_there_is_no_newer_one() -> None:
    assert _status(Evaluated()).video is None
    state = Evaluated(video=VideoPlan(1, 1))
    assert _status(state).video == VideoStatus()
    state.videos.newest = (EpisodeVideo(7, 640, 0, 0, 1.0, 10, b""),)
    state.videos.failure = "x" * 400
    found = _status(state).video
    assert found is not None
    assert (found.version, found.failure) == (7, "x" * 297 + "...")
