"""Options of an evaluation: what they mean, and which are refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.options import Evaluation, Video
from collectorfleet.evaluation.state.schedule import Interval


@pytest.mark.parametrize(
    ("options", "interval"),
    [
        pytest.param({}, Interval(versions=10), id="nothing"),
        pytest.param({"every_versions": 3}, Interval(versions=3), id="versions"),
        pytest.param({"every_seconds": 30}, Interval(seconds=30.0), id="seconds"),
        pytest.param({"every_frames": 1000}, Interval(frames=1000), id="frames"),
    ],
)
def test_the_interval_is_the_one_that_was_given(options: dict[str, Any], interval: Interval) -> None:
    assert Evaluation(**options).interval == interval


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        *(
            pytest.param({name: 0}, f"evaluation.{name}: 0 is not above 0", id=name)
            for name in ("replicas", "every_versions", "every_seconds", "every_frames", "episodes", "threads")
        ),
        pytest.param(
            {"every_versions": 1, "every_frames": 5},
            "evaluation: every_versions and every_frames exclude each other; keep one of them",
            id="two intervals",
        ),
        pytest.param(
            {"seeds": ()}, "evaluation.seeds: the list is empty; give at least one seed, such as 0", id="no seed"
        ),
        pytest.param({"seeds": (0, -1)}, "evaluation.seeds: -1 is not from 0 to 2147483647", id="negative seed"),
        pytest.param({"seeds": (2**31,)}, "evaluation.seeds: 2147483648 is not from 0 to 2147483647", id="large seed"),
        pytest.param(
            {"seeds": (1, 2, 1)},
            "evaluation.seeds: 1 appears twice, so its episodes would count twice; give each seed once",
            id="repeated seed",
        ),
        pytest.param(
            {"episodes": 2, "video": Video(episodes=3)},
            "evaluation.video.episodes: 3 is more than the 2 episodes of an evaluation; record fewer episodes, or play "
            "more",
            id="more videos than episodes",
        ),
        pytest.param({"timeout": timedelta(0)}, "evaluation.timeout: 0:00:00 is not above 0", id="timeout"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        Evaluation(**options)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"episodes": 0}, "evaluation.video.episodes: 0 is not from 1 to 5"),
        ({"episodes": 6}, "evaluation.video.episodes: 6 is not from 1 to 5"),
        ({"every_evaluations": 0}, "evaluation.video.every_evaluations: 0 is not above 0"),
    ],
    ids=["none", "too many", "an interval of nothing"],
)
def test_videos_that_cannot_be_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        Video(**options)
    assert str(refused.value) == sentence
