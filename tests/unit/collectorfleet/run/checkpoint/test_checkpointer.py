"""When checkpoints are written, and what becomes of one that cannot be."""

from __future__ import annotations

import logging
import shutil
from datetime import timedelta

import pytest
import torch
from tests.unit.collectorfleet.run.checkpoint.played_training import SlowToWrite, Training

from collectorfleet.errors import InfrastructureError, UserCodeError
from collectorfleet.run.checkpoint.folder import CheckpointFolder


def test_one_is_written_when_it_is_time_and_a_batch_is_asked_for(training: Training) -> None:
    training.batch(seconds=59)
    training.batch(seconds=30)
    assert training.frames() is None
    training.batch(seconds=30)
    # Of the batches that were worked off when the third was asked for.
    assert training.frames() == 200
    training.batch(seconds=0)
    assert training.frames() == 200


def test_a_state_that_changes_while_it_is_written_is_that_of_the_asking(training: Training) -> None:
    weights = torch.zeros(1000)
    training.state.keep({"holder": {"weights": weights}})
    training.batch(seconds=60)
    training.batch(seconds=0)
    weights += 1
    assert training.frames() == 100
    assert training.folder.newest is not None
    saved = torch.load(training.folder.newest.state_file, weights_only=False)
    assert not saved["holder"]["weights"].any()


def test_one_that_is_asked_for_is_on_disk_at_once(training: Training) -> None:
    training.batch(seconds=1)
    assert training.write()
    assert training.frames() == 100


def test_only_the_checkpoint_of_the_end_says_that_the_work_is_done(training: Training) -> None:
    def is_completed() -> bool:
        training.checkpoints.wait()
        assert training.folder.newest is not None
        return training.folder.newest.completed

    training.checkpoints.write_in_background(training.position())
    assert not is_completed()
    training.batches = 1
    assert training.write()
    assert not is_completed()
    training.batches = 2
    training.checkpoints.remember(training.position(), at_any_cost=True)
    assert training.checkpoints.write_remembered(training.position())
    assert not is_completed()
    assert training.checkpoints.write(training.position(), completed=True)
    assert is_completed()


def test_a_checkpoint_is_logged_with_its_progress_its_size_and_how_long_the_write_took(
    training: Training, caplog: pytest.LogCaptureFixture
) -> None:
    training.batch(seconds=60)
    with caplog.at_level(logging.INFO):
        assert training.write()
    size = len(training.state.dumps())
    assert caplog.messages == [f"checkpoint at 100 frames, version 1: {size} bytes in 0.00 s"]


def test_progress_that_cannot_be_noted_is_a_failure_in_the_status_and_ends_no_run(training: Training) -> None:
    training.folder.close()
    training.batch(seconds=1)
    status = training.checkpoints.status
    assert status is not None
    assert (status.frames, status.failure) == (0, "OSError: [Errno 9] Bad file descriptor")


def test_a_full_or_lost_disk_costs_checkpoints_and_no_run(training: Training, caplog: pytest.LogCaptureFixture) -> None:
    training.batch(seconds=60)
    shutil.rmtree(training.path)
    with caplog.at_level(logging.WARNING):
        training.batch(seconds=60)
        training.batch(seconds=60)
        assert not training.write()
    status = training.checkpoints.status
    assert status is not None
    assert (status.frames, status.time) == (0, None)
    assert "FileNotFoundError" in (status.failure or "")
    assert "for a checkpoint of" not in (status.failure or "")
    assert len([record for record in caplog.records if "cannot write a checkpoint to" in record.message]) == 1

    training.path.mkdir()
    assert training.write()
    status = training.checkpoints.status
    assert status is not None
    assert (status.frames, status.failure) == (300, None)


def test_what_can_never_be_written_fails_the_run_at_its_first_checkpoint(training: Training) -> None:
    training.state.keep({"holder": {"callback": lambda: None}})
    training.batch(seconds=60)
    with pytest.raises(UserCodeError, match="holder cannot be written"):
        training.batch(seconds=0)


def test_what_can_no_longer_be_written_costs_no_run(training: Training) -> None:
    holder: dict[str, object] = {}
    training.state.keep({"holder": holder})
    training.batch(seconds=60)
    training.batch(seconds=60)
    assert training.frames() == 100
    holder["callback"] = lambda: None
    training.batch(seconds=0)
    assert training.frames() == 100
    assert "holder cannot be written" in (training.checkpoints.status.failure or "")  # type: ignore[union-attr]


def test_a_killed_driver_leaves_more_versions_noted_than_it_published(training: Training) -> None:
    training.batch(seconds=1)
    noted = CheckpointFolder(training.path, fleet="cheetah", run="run-1").journal.last_noted
    assert noted.frames_ever == 100
    assert noted.version == 1 + 2


class Talkative:
    def __reduce__(self) -> str:
        raise ValueError("first words\n" + "and more\n" * 1000)


def test_why_there_is_no_newer_one_is_a_sentence_however_much_is_said(training: Training) -> None:
    holder: dict[str, object] = {}
    training.state.keep({"holder": holder})
    training.batch(seconds=60)
    training.batch(seconds=60)
    assert training.frames() == 100
    holder["object"] = Talkative()
    training.batch(seconds=0)
    status = training.checkpoints.status
    assert status is not None
    assert "first words and more" in (status.failure or "")
    assert len(status.failure or "") == 1000


def test_what_is_kept_beside_is_written_first_and_if_it_cannot_be_there_is_no_checkpoint(training: Training) -> None:
    seen: list[int] = []
    training.checkpoints.add_writer(lambda _within: seen.append(len(list(training.path.glob("checkpoint-*")))))
    assert training.write()
    assert seen == [0]

    def fails(_within: timedelta) -> None:
        raise InfrastructureError("policy red: it is busy or stuck")

    training.checkpoints.add_writer(fails)
    training.batch(seconds=1)
    assert not training.write()
    assert training.checkpoints.status is not None
    assert training.checkpoints.status.frames == 0
    assert training.checkpoints.status.failure == "InfrastructureError: policy red: it is busy or stuck"


def test_a_run_whose_folder_another_driver_takes_over_is_told_so_whether_or_not_it_waits_for_the_checkpoint(
    training: Training,
) -> None:
    training.batch(seconds=60)
    CheckpointFolder(training.path, fleet="cheetah", run="run-1")
    training.batch(seconds=0)  # writes one in the background
    training.checkpoints.wait()
    assert len(training.taken_over) == 1
    assert training.taken_over[0].startswith(
        f"checkpoints in {training.path}: another driver has taken over the folder ("
    )
    assert not training.write()
    assert len(training.taken_over) == 2


def test_nothing_interrupts_the_main_thread_while_it_takes_or_writes_a_checkpoint(training: Training) -> None:
    training.batch(seconds=1)
    training.batch(seconds=60)
    assert training.uninterrupted == ["0 to 0", "0 to 0"]
    training.batch(seconds=1)  # writes one in the background
    training.checkpoints.wait()
    assert training.write()
    assert training.uninterrupted[2].startswith("0 to ")
    assert training.uninterrupted[3:] == ["200 to 300"]


def test_the_next_checkpoint_is_thought_to_take_as_long_as_the_longest_of_the_last_five(training: Training) -> None:
    slow = SlowToWrite(training)
    training.state.keep({"holder": {"slow": slow}})
    assert training.checkpoints.seconds() == 5.0  # a guess
    longest = []
    for slow.seconds in (9, 1, 3, 2, 1, 1):
        assert training.write()
        longest.append(training.checkpoints.seconds())
    assert longest == [9, 9, 9, 9, 9, 3]
    slow.seconds = 4
    training.checkpoints.write_in_background(training.position())
    training.checkpoints.wait()
    assert training.checkpoints.seconds() == 4


def test_the_last_checkpoint_of_a_lost_run_gives_learners_a_minute(training: Training) -> None:
    limits: list[timedelta] = []
    training.checkpoints.add_writer(limits.append)
    assert training.write()
    assert training.checkpoints.write(training.position(), soon=True)
    assert limits == [timedelta(hours=1), timedelta(minutes=1)]
