"""What a fleet says of its versions once it has handed out its last batch."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests import envs
from tests.in_process_fleet import fleet

from collectorfleet.actor.target import WeightsTarget

LOAD_SECONDS = 0.2  # far longer than the end of a fleet takes


@pytest.mark.parametrize(
    "total_frames",
    [pytest.param(40, id="at the end"), pytest.param(-1, id="after a break")],
)
def test_a_version_that_is_published_after_the_last_batch_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch, total_frames: int
) -> None:
    load = WeightsTarget.load

    def slow(self: WeightsTarget, *arguments: Any) -> str:
        time.sleep(LOAD_SECONDS)
        return load(self, *arguments)

    monkeypatch.setattr(WeightsTarget, "load", slow)
    options: Any = {"num_collectors": 2, "frames_per_batch": 20, "total_frames": total_frames, "sync": True}
    with fleet(envs.make_counting, envs.make_policy(), **options) as collector:
        for number, _ in enumerate(collector, start=1):
            collector.update_policy_weights_()
            if total_frames < 0 and number == 2:
                break
        if total_frames < 0:
            collector.settle()
        weights = collector.status().weights
        assert weights is not None
        assert (weights.published, weights.acknowledged) == (3, 3)
