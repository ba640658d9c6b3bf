"""Which episodes become videos, and what a lost evaluator costs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.collectorfleet.evaluation.evaluated import NOW, Evaluated, candidate

from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.evaluation.state.evaluation import Play
from collectorfleet.evaluation.state.videos import VideoPlan
from collectorfleet.messages import Answer, Episodes, Recorded


def state(episodes: int = 1, every: int = 1, **options: Any) -> Evaluated:
    return Evaluated(video=VideoPlan(episodes, every), **options)


def answer(state: Evaluated, play: Play, *, values: tuple[float, ...] = (1.0,), failure: str | None = None) -> None:
    """Answer with files that are named by the seed and the place in the batch."""
    one = state.evaluators.find(play.evaluator)
    assert one is not None
    assert play.request.version is not None
    if play.weights is not None:
        assert state.loads(play.evaluator, play.request.version)
    count = min(play.request.recorded, len(values))
    files = () if failure else tuple(f"{play.request.seed}/{row}".encode() for row in range(count))
    state.answered(
        one,
        Answer(
            play.evaluator,
            play.request.id,
            None,
            10,
            play.request.version,
            1.0,
            episodes=Episodes(values, (10,) * len(values)),
            recorded=Recorded(files, failure) if count else None,
        ),
    )


def evaluate(state: Evaluated, version: int, values: tuple[float, ...] = (1.0,)) -> list[int]:
    """Play an evaluation to its end; how many episodes of each rollout were to be recorded."""
    state.due(candidate(version))
    asked = []
    while plays := state.sent():
        for play in plays:
            asked.append(play.request.recorded)
            answer(state, play, values=values)
    assert state.result(0.0, NOW) is not None
    return asked


def test_the_first_episodes_are_recorded_and_say_what_they_are() -> None:
    made = state(episodes=2, seeds=(7, 8, 9))
    made.plan = made.plan.__class__(**{**vars(made.plan), "episodes": 3})
    assert evaluate(made, 5) == [2, 1, 0]
    assert made.videos.newest == (
        EpisodeVideo(5, 0, 0, 7, 1.0, 10, b"7/0"),
        EpisodeVideo(5, 0, 1, 8, 1.0, 10, b"8/0"),
    )


def test_every_fifth_evaluation_is_recorded_from_the_first_one_on() -> None:
    made = state(every=5)
    recorded = [version for version in range(1, 12) if any(evaluate(made, version))]
    assert recorded == [1, 6, 11]
    assert [video.version for video in made.videos.newest] == [11]


def test_a_resumed_run_goes_on_counting_evaluations() -> None:
    before = state(every=3)
    evaluate(before, 1)
    made = state(every=3)
    made.restored(before.kept())
    assert [version for version in range(2, 6) if any(evaluate(made, version))] == [4]


def test_a_failed_evaluation_counts() -> None:
    made = state(every=2, timeout_seconds=100.0)
    made.due(candidate(1))
    made.sent(now=0.0)
    assert made.drop_if_timed_out(1000.0) is not None
    made.lost(made.named("e0"), "it was busy", 0.0)
    made.start(100.0)
    assert [version for version in range(2, 6) if any(evaluate(made, version))] == [3, 5]


def test_an_evaluation_that_begins_at_the_end_of_the_run_is_recorded() -> None:
    made = state(every=5)
    for version in (1, 2):
        evaluate(made, version)
    made.run_ended(candidate(3))
    evaluate(made, 3)
    assert [video.version for video in made.videos.newest] == [3]


def test_of_a_batch_the_first_rows_are_recorded_whatever_other_evaluators_have_played() -> None:
    made = state(episodes=3, replicas=2)
    made.plan = made.plan.__class__(**{**vars(made.plan), "episodes": 4})
    evaluate(made, 1, values=(1.0, 2.0))
    assert [(video.episode, video.episode_return, video.data) for video in made.videos.newest] == [
        (0, 1.0, b"0/0"),
        (1, 2.0, b"0/1"),
        (2, 1.0, b"1/0"),
    ]


def test_without_a_plan_nothing_is_recorded() -> None:
    made = Evaluated()
    assert evaluate(made, 1) == [0, 0]
    assert (made.videos.newest, made.videos.is_enabled) == ((), False)


def test_a_renderer_that_fails_is_told_until_another_episode_is_recorded() -> None:
    made = state()
    made.due(candidate(1))
    (play,) = made.sent()
    answer(made, play, failure="no display")
    (play,) = made.sent()
    answer(made, play)
    found = made.result(0.0, NOW)
    assert found is not None
    assert (made.videos.failure, made.videos.newest) == ("no display", ())
    evaluate(made, 2)
    assert made.videos.failure is None


def test_an_episode_whose_evaluator_was_lost_is_played_again_without_a_renderer() -> None:
    """A renderer may end its process; the same episode would end the next one as well."""
    made = state()
    made.due(candidate(1))
    (play,) = made.sent()
    assert play.request.recorded == 1
    one = made.evaluators.find(play.evaluator)
    assert one is not None
    made.lost(one, "Died: exit code -11", 0.0)
    made.start()
    (again,) = made.sent()
    assert (again.request.seed, again.request.recorded) == (play.request.seed, 0)
    assert made.videos.failure == "an evaluator was lost while it recorded a video: evaluator e0: Died: exit code -11"


def test_after_two_losses_in_a_row_nothing_is_recorded_any_more() -> None:
    made = state()
    for version in (1, 2):
        made.due(candidate(version))
        (play,) = made.sent()
        one = made.evaluators.find(play.evaluator)
        assert one is not None
        made.lost(one, "Died", 0.0)
        made.start(100.0)
        while plays := made.sent():
            for play in plays:
                answer(made, play)
        assert made.result(0.0, NOW) is not None
    assert not any(evaluate(made, 3))
    assert made.videos.failure is not None
    assert made.videos.failure.endswith("; no further episode is recorded")


def test_an_evaluator_that_is_lost_between_recordings_costs_no_video() -> None:
    made = state()
    made.due(candidate(1))
    (play,) = made.sent()
    answer(made, play)
    (play,) = made.sent()
    one = made.evaluators.find(play.evaluator)
    assert one is not None
    made.lost(one, "Died", 0.0)
    made.start()
    (play,) = made.sent()
    answer(made, play)
    assert made.result(0.0, NOW) is not None
    assert (made.videos.failure, len(made.videos.newest)) == (None, 1)


@pytest.mark.parametrize(("seconds", "is_too_long"), [(125.0, False), (125.1, True)])
def test_a_recorded_evaluation_has_a_quarter_of_the_timeout_more_for_its_renderer(
    seconds: float, is_too_long: bool
) -> None:
    made = state(timeout_seconds=100.0)
    made.due(candidate(1))
    made.sent(now=0.0)
    assert [one.name for one in made.too_long_recording(seconds)] == ["e0"] * is_too_long
    assert (made.drop_if_timed_out(seconds) is not None) == is_too_long


def test_an_evaluation_that_is_not_recorded_has_the_timeout_alone() -> None:
    made = state(every=2)
    evaluate(made, 1)
    made.due(candidate(2))
    made.sent(now=0.0)
    assert made.too_long_recording(100.1) == []
    assert made.drop_if_timed_out(100.0) is None
    assert made.drop_if_timed_out(100.1) is not None


@pytest.mark.parametrize("lost_at", [60.0, 125.1])
def test_the_whole_timeout_is_left_for_an_episode_whose_evaluator_was_lost_while_it_recorded(lost_at: float) -> None:
    """Otherwise a long episode would fail because of its video."""
    made = state(timeout_seconds=100.0, build_seconds=50.0, episodes=1)
    made.due(candidate(1))
    made.sent()
    made.lost(made.named("e0"), "Died", lost_at)
    assert made.drop_if_timed_out(lost_at + 149.0) is None  # it builds
    made.start(lost_at + 40.0)
    made.sent(now=lost_at + 40.0)
    assert made.drop_if_timed_out(lost_at + 140.0) is None
    assert made.drop_if_timed_out(lost_at + 140.1) is not None


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_evaluation_fails_if_its_evaluators_are_also_lost_while_they_repeat_the_episode(replicas: int) -> None:
    """Only the renderer delays an evaluation. The first repetition has no renderer."""
    made = state(timeout_seconds=100.0, build_seconds=50.0, episodes=2, replicas=replicas)
    made.due(candidate(1))
    now = 0.0
    while made.drop_if_timed_out(now) is None:
        assert now < 300.0
        made.start(now)
        now += 1.0
        for play in made.sent(now):
            one = made.evaluators.find(play.evaluator)
            assert one is not None
            made.lost(one, "Died: exit code -9", now)
    assert made.failed == 1


def test_an_evaluation_fails_in_the_end_if_no_evaluator_comes_back_after_a_lost_recording() -> None:
    made = state(timeout_seconds=100.0, build_seconds=50.0)
    made.due(candidate(1))
    made.sent()
    made.lost(made.named("e0"), "Died", 10.0)
    assert made.drop_if_timed_out(160.0) is None
    assert made.drop_if_timed_out(160.1) is not None


def test_after_a_lost_recording_nothing_more_of_the_evaluation_is_recorded() -> None:
    """Each episode could cost the time of an evaluation."""
    made = state(episodes=3)
    made.plan = made.plan.__class__(**{**vars(made.plan), "episodes": 3})
    made.due(candidate(1))
    (play,) = made.sent()
    answer(made, play)
    made.sent()
    made.lost(made.named("e0"), "Died", 0.0)
    made.start()
    asked = []
    while plays := made.sent():
        for play in plays:
            asked.append(play.request.recorded)
            answer(made, play)
    assert asked == [0, 0]
    assert made.result(0.0, NOW) is not None
    assert [video.data for video in made.videos.newest] == [b"0/0"]
