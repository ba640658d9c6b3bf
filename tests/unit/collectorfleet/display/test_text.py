"""A report in one line."""

from __future__ import annotations

from tests.unit.collectorfleet.display.reports import evaluation, report

from collectorfleet.display.text import ended, evaluations, how_far, progress_line
from collectorfleet_api.v1alpha1 import DriverReport, EpisodesStatus, EvaluationStatus, Progress, run_progress


def test_a_line_has_every_number_that_a_person_watches() -> None:
    assert progress_line(report(), elapsed_seconds=12.3) == (
        "12 s  frames 20,480 of 1,000,000  1,705 frames/s  weights 10 (acknowledged 9)  "
        "staleness 0.8 (max 1) of 1  collectors 1/2  loss nan  reward 87.12"
    )


def test_episodes_are_in_the_line_once_one_has_ended() -> None:
    seen = EpisodesStatus(ended=1204, averaged=100, return_mean=87.123, length_mean=90.6)
    assert "  collectors -  return 87.12 (91 frames)" in progress_line(
        DriverReport(progress=Progress(episodes=seen)), 1
    )
    assert ended(seen) == "1,204 ended  return 87.12 (91 frames), mean of the last 100"
    assert ended(seen.model_copy(update={"ended": 100})).endswith("mean of all")


def test_the_newest_evaluation_is_in_the_line_once_one_has_finished() -> None:
    line = progress_line(DriverReport(evaluation=evaluation()), 1)
    assert line.endswith("  collectors -  evaluation 471.2 ±4.1 (version 120, best 480)")
    assert "evaluation" not in progress_line(DriverReport(evaluation=EvaluationStatus(replicas=2)), 1)


def test_the_line_says_that_the_driver_waits_for_the_last_evaluation() -> None:
    line = progress_line(DriverReport(evaluation=evaluation(awaited_version=124)), 1)
    assert line.endswith("  evaluation 471.2 ±4.1 (version 120, best 480)  last version 124 not evaluated yet")
    first = progress_line(DriverReport(evaluation=EvaluationStatus(replicas=2, awaited_version=3)), 1)
    assert first.endswith("  last version 3 not evaluated yet")


def test_evaluations_have_their_counts_and_the_newest_failure() -> None:
    seen = evaluation(last_failure="evaluator e0: Died: killed")
    assert evaluations(seen) == (
        "471.2 ±4.1 (version 120, best 480)  2 finished, 1 failed  evaluators 2/2  "
        "newest failure: evaluator e0: Died: killed"
    )
    assert evaluations(EvaluationStatus(replicas=2)) == "-  0 finished  evaluators 0/2"


def test_what_is_unknown_is_a_dash() -> None:
    assert progress_line(DriverReport(), elapsed_seconds=0) == (
        "0 s  frames 0  - frames/s  weights - (acknowledged -)  staleness -  collectors -"
    )


def test_how_far_and_how_long_are_known_where_there_is_an_end() -> None:
    half = Progress(frames_delivered=500, total_frames=1000, frames_per_second=100.0)
    assert how_far(half) == "500 of 1,000  50%  100 frames/s  5s left"
    assert how_far(half.model_copy(update={"total_frames": None})) == "500  100 frames/s"
    assert how_far(half.model_copy(update={"frames_per_second": None})) == "500 of 1,000  50%  - frames/s"


def test_an_unfinished_run_has_the_same_percentage_as_in_the_column_of_kubectl() -> None:
    almost = Progress(frames_delivered=999, total_frames=1000)
    assert "  99%  " in how_far(almost)
    assert run_progress.summary(999, 1000, None) == "99%"


def test_more_frames_than_were_asked_for_are_all_of_them() -> None:
    assert how_far(Progress(frames_delivered=1100, total_frames=1000, frames_per_second=1.0)).endswith(
        "100%  1 frames/s  0s left"
    )
