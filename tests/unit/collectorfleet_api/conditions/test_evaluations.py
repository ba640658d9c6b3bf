"""What conditions say about evaluations at the end of a run."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_api.conditions.evaluations import describe_last_evaluation, describe_unfinished_evaluations
from collectorfleet_api.v1alpha1 import DriverReport, EvaluationStatus, Progress, WeightsStatus


def report(
    delivered: int = 400, *, ended: bool | None = None, published: int | None = None, **evaluation: Any
) -> DriverReport:
    progress = Progress(frames_delivered=delivered, total_frames=400)
    return DriverReport(
        progress=progress,
        driver_ended=ended,
        weights=None if published is None else WeightsStatus(published=published),
        evaluation=EvaluationStatus(replicas=2, **evaluation) if evaluation else None,
    )


WAITS = "all frames are collected, and the driver waits for the evaluation of the last version, 196"
AT_MOST = "; the driver waits at most 300 s for an evaluator (collectors.firstRequestTimeoutSeconds)"


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        pytest.param(None, "", id="no report"),
        pytest.param(report(), "", id="no evaluation"),
        pytest.param(report(finished=3), "", id="not at the end"),
        pytest.param(report(ended=True, awaited_version=196), "", id="after the end"),
        pytest.param(report(available=1, awaited_version=196), WAITS, id="an evaluator runs"),
        pytest.param(report(awaited_version=196), f"{WAITS}; no evaluator is ready{AT_MOST}", id="no evaluator"),
        pytest.param(
            report(awaited_version=196, last_failure="evaluator e0: Died"),
            f"{WAITS}; no evaluator is ready: evaluator e0: Died{AT_MOST}",
            id="a lost evaluator",
        ),
        pytest.param(
            report(300, available=1, awaited_version=196),
            f"collection has ended{WAITS.removeprefix('all frames are collected')}",
            id="fewer frames",
        ),
    ],
)
def test_a_driver_that_waits_for_its_last_evaluation_says_so(seen: DriverReport | None, said: str) -> None:
    assert describe_last_evaluation(seen, why_not_ready="", most_seconds=300) == said


def test_why_pods_of_evaluators_are_not_ready_explains_more_than_an_earlier_failure() -> None:
    seen = report(awaited_version=196, last_failure="evaluator e0: Died")
    said = describe_last_evaluation(seen, why_not_ready="0/1 nodes are available", most_seconds=300)
    assert said == f"{WAITS}; no evaluator is ready: 0/1 nodes are available{AT_MOST}"


@pytest.mark.parametrize(
    ("seen", "has_goal", "said"),
    [
        (None, True, ""),
        (report(), True, ""),
        (report(finished=3, skipped=2, failed=1), True, ""),
        (report(skipped=0), True, ""),
        (report(skipped=39, awaited_version=196), False, "0 of 40 due evaluations finished"),
        (report(failed=1), True, "0 of 1 due evaluation finished, so stopWhen was not tested"),
        (
            report(skipped=39, awaited_version=196),
            True,
            "0 of 40 due evaluations finished, so stopWhen was not tested",
        ),
        (report(finished=3, awaited_version=196), True, "the last version, 196, was not evaluated"),
        (report(finished=3, failed=1, version=196, published=196, last_failure="version 12: late"), True, ""),
        (report(finished=3, failed=1, version=196, published=196, last_failure="version 196: late"), True, ""),
        (report(finished=3, failed=1, version=190, published=196, last_failure="version 19: late"), True, ""),
        (report(finished=3, version=190, published=196, last_failure="evaluator e0: version 196: died"), True, ""),
        (
            report(finished=3, failed=1, version=190, published=196, last_failure="version 196: late"),
            True,
            "the last version, 196, was not evaluated: late",
        ),
        (
            report(finished=3, failed=1, published=196, last_failure="version 196: late"),
            False,
            "the last version, 196, was not evaluated: late",
        ),
    ],
)
def test_a_run_that_completes_without_its_evaluations_says_so(
    seen: DriverReport | None, has_goal: bool, said: str
) -> None:
    assert describe_unfinished_evaluations(seen, has_goal=has_goal) == said
