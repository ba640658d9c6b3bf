"""A training function that registers an object in its loop finds the object's state again after any early end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from collectorfleet.run.batch_boundary import BatchBoundary
from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position
from collectorfleet.run.stop import StopNow, StopRequest


def drive(path: Path, *, setup_seconds: float = 0, batches: int = 2, is_stopped: bool = False) -> int:
    """Run a driver that makes its critic from the first batch. Return the updates of the critic after the last batch.

    ``setup_seconds`` is the time until the training function requests the first batch.
    """
    seconds, reached, critic = 0.0, 0, dict[str, int]()
    folder, stop = CheckpointFolder(path, fleet="cheetah", run="run-1"), StopRequest()
    if folder.newest is not None:
        reached = folder.newest.position.batches
    state = TrainingState(folder.newest.state_file if folder.newest else None)
    checkpoints = Checkpointer(folder, state, timedelta(seconds=60), print, clock=lambda: seconds)
    boundary = BatchBoundary(stop, checkpoints)
    state.keep({"policy": {}})

    def collected() -> Iterator[int]:
        nonlocal reached
        for _ in range(batches):
            reached += 1
            yield reached
        if is_stopped:
            raise StopNow

    def position() -> Position:
        return Position(100 * reached, reached, reached)

    seconds += setup_seconds
    try:
        for _ in boundary.batches(collected(), position):
            state.keep({"critic": critic})
            critic["updates"] = critic.get("updates", 0) + 1
        checkpoints.write(position())
    except StopNow:
        boundary.write_last()
    checkpoints.wait()
    stop.run_ended()
    folder.close()
    return critic.get("updates", 0)


@pytest.mark.parametrize(
    "setup_seconds", [pytest.param(0, id="short setup"), pytest.param(61, id="a checkpoint is due before it")]
)
def test_an_object_that_is_registered_in_the_loop_is_restored(tmp_path: Path, setup_seconds: float) -> None:
    assert drive(tmp_path) == 2
    assert drive(tmp_path, batches=1, setup_seconds=setup_seconds) == 3


def test_an_object_that_is_registered_in_the_loop_outlives_a_driver_without_a_batch(tmp_path: Path) -> None:
    assert drive(tmp_path) == 2
    assert drive(tmp_path, batches=0, is_stopped=True) == 0
    assert drive(tmp_path, batches=1) == 3
