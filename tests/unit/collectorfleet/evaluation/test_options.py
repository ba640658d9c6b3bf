"""Options of an evaluation: what they mean, and which are refused."""

from __future__ import annotations

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
        pytest.param(
            {"every_versions": 1, "every_frames": 5},
            "evaluation: every_versions and every_frames exclude each other; keep one of them",
            id="two intervals",
        ),
        pytest.param(
            {"seeds": ()}, "evaluation.seeds: the list is empty; give at least one seed, such as 0", id="no seed"
        ),
        pytest.param(
            {"seeds": (1, 2, 1)},
            "evaluation.seeds: 1 appears twice, so its episodes would count twice; give each seed once",
            id="repeated seed",
        ),
        pytest.param(
            {"episodes": 2, "video": Video(episodes=3)},
            "evaluation.video.episodes: 3 is more than the 2 episodes of an evaluation; use at most 2, or raise "
            "evaluation.episodes",
            id="more videos than episodes",
        ),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        Evaluation(**options)
    assert str(refused.value) == sentence
