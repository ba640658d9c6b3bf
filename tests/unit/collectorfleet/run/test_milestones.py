"""The steps of a driver's start, in its log."""

from __future__ import annotations

import logging
import time

import pytest
from benchmarks.start.measure import MILESTONE

from collectorfleet.run.milestones import Milestone, log_milestone


def test_the_benchmark_of_the_start_finds_each_step_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    before = time.time()
    with caplog.at_level(logging.INFO):
        for milestone in Milestone:
            log_milestone(milestone)
    found = MILESTONE.findall(caplog.text)
    assert [name for name, _ in found] == ["python", "head", "imports", "ray", "constructed", "first_batch"]
    assert all(before - 0.001 <= float(at) <= time.time() + 0.001 for _, at in found)
