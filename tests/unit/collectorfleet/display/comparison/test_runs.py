"""The returns of a run as a curve."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet.display.comparison.made_runs import BEGAN, run

from collectorfleet.display.comparison.runs import Axis, Curve, Run, Source, check, curve
from collectorfleet.errors import InvalidOption
from collectorfleet.timeline.timeline import Timeline


def test_returns_of_training_are_drawn_over_frames_and_over_the_time_of_the_run() -> None:
    made = run(points=[(100, 1.0), (200, 2.0)], seconds=[3.0, 9.0])
    assert curve(made, Source.TRAINING, Axis.FRAMES) == Curve([100, 200], [1.0, 2.0])
    assert curve(made, Source.TRAINING, Axis.TIME) == Curve([3.0, 9.0], [1.0, 2.0])


def test_evaluations_are_drawn_at_the_frames_of_their_weights() -> None:
    made = run(evaluations=[(100, 5.0), (400, 8.0)])
    assert curve(made, Source.EVALUATION, Axis.FRAMES) == Curve([100, 400], [5.0, 8.0])
    assert curve(made, Source.EVALUATION, Axis.TIME) == Curve([1.0, 4.0], [5.0, 8.0])
    assert curve(run(), Source.EVALUATION, Axis.FRAMES) is None


def test_frames_that_a_resumed_driver_repeats_count_as_it_repeated_them() -> None:
    made = run(points=[(100, 1.0), (200, 2.0), (300, 9.0), (200, 3.0), (300, 4.0)], seconds=[1, 2, 3, 8, 9])
    assert curve(made, Source.TRAINING, Axis.FRAMES) == Curve([100, 200, 300], [1.0, 3.0, 4.0])
    assert curve(made, Source.TRAINING, Axis.TIME) == Curve([1, 2, 3, 8, 9], [1.0, 2.0, 9.0, 3.0, 4.0])


def test_of_points_with_the_same_frames_the_newest_counts() -> None:
    made = run(points=[(100, 1.0), (100, 2.0), (200, 3.0)], seconds=[1, 2, 3])
    assert curve(made, Source.TRAINING, Axis.FRAMES) == Curve([100, 200], [2.0, 3.0])


@pytest.mark.parametrize(
    ("timeline", "sentence"),
    [
        pytest.param(
            Timeline(fleet="f", began=BEGAN),
            "runs/3: it has no returns yet: no episode has ended in 0 frames",
            id="nothing",
        ),
        pytest.param(
            Timeline(
                fleet="f", began=BEGAN, times=[BEGAN, BEGAN + 1], series={"frames": [0, 2048], "return": [None, None]}
            ),
            "runs/3: it has no returns yet: no episode has ended in 2,048 frames",
            id="no episode",
        ),
        pytest.param(
            Timeline(fleet="f", began=BEGAN, times=[BEGAN + 1, BEGAN], series={"return": [1.0, 2.0]}),
            "runs/3: its timeline is damaged: its times do not increase",
            id="out of order",
        ),
    ],
)
def test_a_run_that_cannot_be_compared_is_refused_in_one_sentence(timeline: Timeline, sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        check(Run("runs/3", timeline))
    assert str(refused.value) == sentence
