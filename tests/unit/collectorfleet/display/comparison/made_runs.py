"""Runs for comparisons, each with a few points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collectorfleet.display.comparison.runs import Run
from collectorfleet.timeline.timeline import Evaluated, Timeline

BEGAN = 1_700_000_000.0


def run(
    name: str = "run",
    points: Sequence[tuple[float, float]] = ((0, 0.0), (1000, 100.0)),
    *,
    evaluations: Sequence[tuple[int, float]] = (),
    configuration: dict[str, Any] | None = None,
    seconds: Sequence[float] = (),
    **kwargs: Any,
) -> Run:
    """``points`` and ``evaluations`` are frames and returns; a run delivers 100 frames each second.

    ``kwargs`` are those of the training function. Without a ``configuration`` the run has only these.
    """
    times = list(seconds) or [frames / 100 + 1 for frames, _ in points]
    timeline = Timeline(
        fleet="cartpole",
        began=BEGAN,
        times=[BEGAN + one for one in times],
        series={"frames": [frames for frames, _ in points], "return": [value for _, value in points]},
        evaluations=[
            Evaluated(time=BEGAN + frames / 100, version=place, frames=frames, return_mean=value)
            for place, (frames, value) in enumerate(evaluations)
        ],
    )
    return Run(name, timeline, configuration or {"driver": {"train": {"function": "a:train", "kwargs": kwargs}}})
