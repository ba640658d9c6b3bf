"""Means, interquartile means and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.example_count import examples

from collectorfleet.display.comparison.runs import Curve
from collectorfleet.display.comparison.statistics import STATISTICS, along, at, common

MEAN, IQM = STATISTICS.values()
# Of rliable 1.2.0, with 20,000 resamples, for numpy.random.default_rng(3).normal(100, 30) of 3, then 5, then 10 runs.
RLIABLE = {
    3: ((99.0335, 23.3300, 161.2276), (99.0335, 23.3300, 161.2276)),
    5: ((79.0724, 58.8420, 91.9137), (87.4765, 53.9226, 93.3687)),
    10: ((100.5371, 83.2049, 125.7169), (91.4723, 80.7257, 115.9550)),
}


def flat(*values: float) -> list[Curve]:
    return [Curve([0.0, 1.0], [value, value]) for value in values]


def test_statistics_and_intervals_are_those_of_rliable() -> None:
    rng = np.random.default_rng(3)
    for count, (mean, iqm) in RLIABLE.items():
        curves = flat(*rng.normal(100, 30, size=count))
        for statistic, (value, low, high) in ((MEAN, mean), (IQM, iqm)):
            found = at(curves, 0.5, statistic)
            assert found.values[0] == pytest.approx(value, abs=1e-4)
            assert found.low is not None
            assert found.high is not None
            # Both draw at random: 2,000 resamples leave an error of about 1.
            assert found.low[0] == pytest.approx(low, abs=2.5)
            assert found.high[0] == pytest.approx(high, abs=2.5)


def test_the_interquartile_mean_leaves_out_the_lowest_and_the_highest_quarter() -> None:
    assert at(flat(-1000, 1, 2, 1000), 0.0, IQM).values == [1.5]
    assert at(flat(0, 1, 5), 0.0, IQM).values == [2.0]


def test_one_run_has_no_interval() -> None:
    found = along(flat(3.0), MEAN)
    assert found is not None
    assert set(found.values) == {3.0}
    assert (found.low, found.high) == (None, None)


def test_equal_runs_have_an_interval_without_a_width() -> None:
    found = at(flat(3.0, 3.0, 3.0), 0.5, IQM)
    assert (found.values, found.low, found.high) == ([3.0], [3.0], [3.0])


def test_the_same_runs_give_the_same_interval() -> None:
    curves = flat(1, 5, 9, 11)
    assert along(curves, MEAN) == along(curves, MEAN)


def test_a_curve_covers_only_what_all_runs_reached() -> None:
    found = along([Curve([0, 100], [0, 100]), Curve([20, 60], [20, 60])], MEAN)
    assert found is not None
    assert (found.xs[0], found.xs[-1]) == (20, 60)
    assert found.values == pytest.approx(found.xs), "both runs are at x where they are at x frames"


def test_runs_without_a_common_part_have_no_curve() -> None:
    assert along([Curve([0, 10], [0, 1]), Curve([20, 30], [0, 1])], MEAN) is None


def test_a_common_part_of_one_place_is_a_curve_of_one_point() -> None:
    found = along([Curve([0, 10], [0, 1]), Curve([10, 30], [3, 1])], MEAN)
    assert found is not None
    assert (found.xs, found.values) == ([10], [2.0])


CURVES = st.lists(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e3, 1e3)), min_size=1, max_size=6, unique_by=lambda one: one[0]),
    min_size=1,
    max_size=5,
)


@settings(max_examples=examples(40))
@given(CURVES)
def test_no_value_lies_outside_of_what_was_measured(points: list[list[tuple[float, float]]]) -> None:
    curves = [Curve(*map(list, zip(*sorted(one), strict=True))) for one in points]
    found = along(curves, IQM)
    assert (found is None) == (common(curves) is None)
    if found is None:
        return
    least, most = min(min(one.ys) for one in curves), max(max(one.ys) for one in curves)
    for row in (found.values, found.low, found.high):
        assert all(least - 1e-6 <= value <= most + 1e-6 for value in row or ())
