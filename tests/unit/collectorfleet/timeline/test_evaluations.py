"""Results of evaluations in bounded space."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import inf

import pytest
from tests.cluster.binaries import ROOT

from collectorfleet.timeline.evaluations import MOST_EVALUATIONS, Evaluations
from collectorfleet.timeline.recorder import Recorder
from collectorfleet.timeline.timeline import Evaluated, RunEvent, Timeline
from collectorfleet_api.v1alpha1 import DriverReport, EvaluationStatus

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def status(number: int, mean: float = 1.0, frames: int | None = None) -> EvaluationStatus:
    """After the evaluation of version ``number``, which took a second."""
    return EvaluationStatus(
        version=number,
        frames=100 * number if frames is None else frames,
        time=NOON + timedelta(seconds=number),
        episodes=20,
        return_mean=mean,
        return_standard_error=0.5,
    )


def test_a_result_is_recorded_once_however_often_it_is_reported() -> None:
    recorder = Recorder("f", 0.0)
    for now, number in enumerate((None, 5, 5, 10)):
        seen = EvaluationStatus(replicas=1) if number is None else status(number)
        recorder.note(DriverReport(evaluation=seen), float(now))
    first, second = recorder.timeline().evaluations
    assert first == Evaluated(
        time=NOON.timestamp() + 5, version=5, frames=500, return_mean=1.0, standard_error=0.5, episodes=20
    )
    assert second.version == 10


def test_the_next_driver_adds_to_the_results_and_repeats_none() -> None:
    first = Recorder("f", 0.0)
    first.note(DriverReport(evaluation=status(5)), 1.0)
    second = Recorder("f", 60.0, Timeline.from_wire(first.timeline().to_wire()))
    # It resumes from a checkpoint, which has the newest result.
    second.note(DriverReport(evaluation=status(5)), 61.0)
    second.note(DriverReport(evaluation=status(7)), 62.0)
    assert [one.version for one in second.timeline().evaluations] == [5, 7]


def test_a_failure_is_told_once_with_its_cause_and_those_before_the_driver_are_not() -> None:
    recorder = Recorder("f", 0.0)
    cause = "version 5: 3 of 20 episodes ended within 600 s"
    for now, (failed, restarts) in enumerate(((2, 1), (2, 1), (3, 1), (3, 1), (3, 2))):
        seen = EvaluationStatus(failed=failed, restarts=restarts, last_failure=cause)
        recorder.note(DriverReport(evaluation=seen), float(now))
    happened = recorder.timeline().happened
    assert happened == [RunEvent(time=now, what=cause, collector="evaluation") for now in (2.0, 4.0)]


def test_a_mean_that_is_no_number_is_left_out() -> None:
    evaluations = Evaluations()
    evaluations.note(status(1).model_copy(update={"return_mean": inf}))
    assert evaluations.results == []


@pytest.mark.parametrize("seed", range(5))
def test_results_are_bounded_and_keep_the_first_the_newest_and_the_best(seed: int) -> None:
    chance = random.Random(seed)
    means = [chance.random() for _ in range(MOST_EVALUATIONS + 50)]
    evaluations = Evaluations()
    for number, mean in enumerate(means):
        evaluations.note(status(number, mean, frames=chance.randrange(10**6)))
    versions = [one.version for one in evaluations.results]
    assert len(versions) == MOST_EVALUATIONS
    assert (versions[0], versions[-1]) == (0, len(means) - 1)
    assert means.index(max(means)) in versions
    assert versions == sorted(versions)


def test_a_long_run_keeps_results_of_all_of_its_time() -> None:
    evaluations = Evaluations()
    for number in range(10 * MOST_EVALUATIONS):
        evaluations.note(status(number))
    gaps = [after.version - before.version for before, after in pairwise(evaluations.results)]
    # Even gaps would be of 10.
    assert max(gaps) <= 32


def test_a_timeline_of_an_earlier_release_has_no_evaluations() -> None:
    stored = json.loads((ROOT / "tests/data/timeline.json").read_text())
    assert "evaluations" not in stored
    assert Timeline.from_wire(stored).evaluations == []
