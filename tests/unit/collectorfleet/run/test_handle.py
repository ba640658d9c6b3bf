"""The handle that a training function gets."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from collectorfleet.run.handle import MOST_METRICS, Run


def test_the_newest_value_of_each_name_is_kept() -> None:
    run = Run()
    run.report(reward=1, loss=0.5)
    run.report(reward=Fraction(5, 2))
    assert run.metrics == {"reward": 2.5, "loss": 0.5}


def test_a_value_that_is_not_finite_is_taken() -> None:
    run = Run()
    run.report(loss=math.nan)
    assert math.isnan(run.metrics["loss"])


@pytest.mark.parametrize("value", ["0.5", None, [1.0]], ids=["text", "none", "list"])
def test_what_is_no_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(TypeError, match=r"run\.report: reward"):
        Run().report(reward=value)


def test_a_status_holds_a_hundred_metrics() -> None:
    run = Run()
    run.report(**{f"m{i}": i for i in range(MOST_METRICS)})
    with pytest.raises(ValueError, match="101 metrics are too many"):
        run.report(one_more=1)


def test_the_name_of_a_metric_is_a_name() -> None:
    with pytest.raises(ValueError, match=r"run\.report: xxxxxxxxxxxxxxxxxxxx\.\.\. is a name of 101 characters"):
        Run().report(**{"x" * 101: 1})


def test_it_says_when_the_run_is_to_stop() -> None:
    assert Run(stop_requested=lambda: True).stop_requested
    assert not Run().stop_requested


def test_without_checkpoints_nothing_is_kept_and_nobody_complains() -> None:
    run = Run()
    assert not run.keep(optimizer=object(), anything=3)
    assert not run.checkpoint()
