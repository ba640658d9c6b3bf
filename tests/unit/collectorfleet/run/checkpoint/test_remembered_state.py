"""A run that is interrupted or lost writes the state that it remembered between two batches."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.collectorfleet.run.checkpoint.played_training import SlowToWrite, Training

from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position


def test_a_run_that_is_interrupted_writes_what_it_was_between_two_batches(training: Training) -> None:
    holder = {"updates": 0}
    training.state.keep({"holder": holder})
    training.batch(seconds=1)
    holder["updates"] = 1
    training.batch(seconds=1)  # remembers the state after the first
    holder["updates"] = 17  # in the middle of the second
    assert training.checkpoints.write_remembered(training.position())
    assert training.frames() == 100
    assert training.saved() == {"updates": 1}


def test_what_was_remembered_is_written_once(training: Training) -> None:
    training.batch(seconds=60)
    training.batch(seconds=1)  # writes the first in the background
    assert training.checkpoints.write_remembered(training.position())
    assert training.frames() == 100
    training.checkpoints.remember(Position(frames=100, batches=1, version=1), at_any_cost=True)
    assert training.checkpoints.write_remembered(training.position())
    assert training.folder.newest is not None
    assert training.folder.newest.number == 1


def test_what_was_remembered_is_written_after_a_checkpoint_that_could_not_be_written(training: Training) -> None:
    training.batch(seconds=1)
    training.batch(seconds=1)
    shutil.rmtree(training.path)
    assert not training.write()
    training.path.mkdir()
    assert training.checkpoints.write_remembered(training.position())
    assert training.frames() == 100


def test_a_checkpoint_that_the_training_function_asks_for_in_a_batch_is_not_replaced_by_an_older_one(
    training: Training,
) -> None:
    training.batch(seconds=1)
    training.batch(seconds=1)
    assert training.write()
    assert not training.checkpoints.write_remembered(training.position())
    assert training.frames() == 200


def test_remembering_costs_one_percent_of_the_time(training: Training) -> None:
    training.state.keep({"holder": {"slow": SlowToWrite(training, seconds=1)}})
    training.checkpoints.remember(training.position())
    assert training.seconds == 1
    remembered = []
    for _ in range(25):
        training.seconds += 10
        before = training.seconds
        training.batches += 1
        training.checkpoints.remember(training.position())
        if training.seconds > before:
            remembered.append(training.batches)
    # Every hundred seconds.
    assert remembered == [10, 20]
    training.checkpoints.remember(training.position(), at_any_cost=True)
    assert training.checkpoints.write_remembered(training.position())
    assert training.frames() == 2500


def test_nothing_is_remembered_before_all_that_the_checkpoint_has_was_put_back(training: Training) -> None:
    training.state.keep({"holder": {"updates": 3}})
    training.batch(seconds=1)
    assert training.write()
    again = Training(training.path)
    assert again.folder.newest is not None
    again.state = TrainingState(again.folder.newest.state_file)
    again.checkpoints = Checkpointer(again.folder, again.state, timedelta(seconds=60), again.taken_over.append)
    again.batch(seconds=1)
    again.batch(seconds=1)
    holder: dict[str, int] = {}
    assert again.state.keep({"holder": holder})
    assert holder == {"updates": 3}
    assert not again.checkpoints.write_remembered(again.position())
    again.batch(seconds=1)
    assert again.checkpoints.write_remembered(again.position())


def test_a_state_that_cannot_be_remembered_costs_nothing_but_that(training: Training) -> None:
    training.state.keep({"holder": {"callback": lambda: None}})
    training.batch(seconds=1)
    training.batch(seconds=1)
    assert not training.checkpoints.write_remembered(training.position())
    assert training.checkpoints.status is None


def test_of_what_is_kept_beside_the_last_checkpoint_has_what_is_there_now(training: Training) -> None:
    holder = {"versions": 1}
    limits: list[timedelta] = []
    training.state.keep({"holder": holder})
    training.checkpoints.add_writer(limits.append)
    training.batch(seconds=1)
    training.batch(seconds=1)
    holder["versions"] = 2
    assert training.checkpoints.write_remembered(training.position())
    assert training.saved() == {"versions": 2}
    # The next driver waits for this one.
    assert limits == [timedelta(minutes=1)]


def test_an_interrupt_that_waited_for_a_checkpoint_does_not_bring_an_older_one_back(tmp_path: Path) -> None:
    training = Training(tmp_path / "checkpoints")

    @contextmanager
    def interrupted() -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    training.batch(seconds=1)
    training.batch(seconds=1)
    training.checkpoints._uninterrupted = interrupted
    with pytest.raises(KeyboardInterrupt):
        training.write()
    training.checkpoints._uninterrupted = nullcontext
    training.checkpoints.write_remembered(training.position())
    assert training.frames() == 200
