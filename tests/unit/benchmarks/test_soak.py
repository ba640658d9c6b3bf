"""Whether something grows, and at what rate."""

from __future__ import annotations

import pytest
from benchmarks.soak.samples import judge, slope

BATCHES = 200_000
RSS = "driver RSS (MiB)"


def points(growth: float, *, until: float = 1.0) -> list[tuple[float, float]]:
    """500, and ``growth`` more at the end of the run or from the share ``until`` of it on."""
    at = [BATCHES * i / 200 for i in range(201)]
    return [(x, 500 + growth * min(1.0, x / (until * BATCHES))) for x in at]


def test_a_slope_does_not_follow_single_outliers() -> None:
    line = [(float(x), 2.0 * x) for x in range(20)]
    line[7] = (7.0, 10_000.0)
    assert slope(line) == pytest.approx(2.0)


def test_a_leak_grows_and_noise_does_not() -> None:
    assert judge(RSS, points(100), BATCHES).grows
    assert not judge(RSS, [(x, y + (-1) ** i * 10) for i, (x, y) in enumerate(points(0))], BATCHES).grows


def test_what_grows_at_the_start_alone_does_not_leak() -> None:
    assert not judge(RSS, points(400, until=0.1), BATCHES).grows
