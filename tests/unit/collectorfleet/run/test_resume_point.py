"""Where the next driver of a run begins, whatever became of those before it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet.errors import InvalidOption
from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.history import RunHistory
from collectorfleet.run.position import Position
from collectorfleet.run.resume_point import resume_point, resumed


def checkpoint(position: Position, *, completed: bool = False) -> Checkpoint:
    return Checkpoint(3, position, datetime(2026, 7, 1, tzinfo=UTC), completed, Path("state.pt"))


def history(checkpoint: Checkpoint | None = None, *records: Position) -> RunHistory:
    return RunHistory("run-1", drivers=1, checkpoint=checkpoint, records=records)


class Drivers:
    """Drivers of one run, and what each of their records says at the moment."""

    def __init__(self) -> None:
        self.now = self.saved = self.status = self.journal = Position()
        self.handed_out = 0  # by all drivers, as somebody who sees everything counts
        self.published: list[int] = []

    def batch(self, frames: int) -> None:
        self.now = replace(
            self.now, frames=self.now.frames + frames, batches=self.now.batches + 1, version=self.now.version + 1
        )
        self.handed_out += frames
        self.published.append(self.now.version)
        self.journal = Position(version=self.now.version, frames_lost=self.now.frames_ever)

    def kill(self) -> None:
        self.now = resumed(self.saved, [self.status, self.journal])


@given(st.lists(st.one_of(st.integers(1, 500), st.sampled_from(["checkpoint", "status", "kill"])), max_size=60))
def test_every_frame_is_counted_once_and_every_version_is_published_once(steps: list[int | str]) -> None:
    run = Drivers()
    for step in steps:
        match step:
            case int(frames):
                run.batch(frames)
            case "checkpoint":
                run.saved = run.now
            case "status":
                run.status = run.now
            case _:
                run.kill()
                assert run.now.frames == run.saved.frames
                assert run.now.batches == run.saved.batches
        assert run.now.frames_ever == run.handed_out
        assert len(set(run.published)) == len(run.published)


def test_what_came_after_the_checkpoint_is_lost() -> None:
    status = Position(frames=10_400, batches=52, version=52, frames_lost=300)
    saved = Position(frames=10_000, batches=50, version=50, frames_lost=300)
    assert resumed(saved, [status]) == Position(frames=10_000, batches=50, version=52, frames_lost=700)


def test_a_driver_without_a_checkpoint_starts_over_with_the_next_version() -> None:
    resume = resume_point(history(None, Position(frames=800, batches=4, version=5)), None, None)
    assert resume.position == Position(version=5, frames_lost=800)
    assert resume.sentence == (
        "starting over, because there is no checkpoint and no output to resume from: 800 frames were "
        "lost with earlier drivers; the next version is 6"
    )


def test_the_first_driver_of_a_run_says_nothing() -> None:
    assert resume_point(RunHistory("run-1"), None, 1000).sentence == ""


def test_a_run_that_writes_goes_on_behind_what_is_written() -> None:
    # Its checkpoint is of a later moment than the last whole shard.
    saved = checkpoint(Position(frames=900, batches=9, version=7))
    written = Position(frames=800, batches=8, version=1)
    resume = resume_point(history(saved), written, None)
    assert resume.position == Position(frames=800, batches=8, version=7, frames_lost=100)
    assert resume.sentence.startswith("resuming after 800 frames of output: 100 frames were lost")


def test_a_run_that_completed_goes_on_only_with_more_frames_to_collect() -> None:
    done = checkpoint(Position(frames=1000, batches=10, version=10), completed=True)
    assert resume_point(history(done), None, 2000).position.frames == 1000
    with pytest.raises(InvalidOption, match="totalFrames is 1000, but the checkpoint's run completed after"):
        resume_point(history(done), None, 1000)


def test_a_driver_that_was_lost_after_the_last_batch_gets_to_end_its_training() -> None:
    last = checkpoint(Position(frames=1000, batches=10, version=10))
    assert resume_point(history(last), None, 1000).position.frames == 1000


def test_a_replay_buffer_that_begins_empty_says_what_is_not_in_it() -> None:
    saved = history(checkpoint(Position(frames=800, batches=8, version=7)), Position(frames=900, version=8))
    resume = resume_point(saved, None, None, buffer_begins_empty=True)
    assert resume.buffer_frames_lost == 800
    assert resume.sentence == (
        "resuming from the checkpoint at 800 frames: 100 frames were lost with earlier drivers; the next version is 9; "
        "the replay buffer begins empty, without the 800 frames written before"
    )
    assert resume_point(saved, None, None).buffer_frames_lost == 0


def test_a_driver_that_starts_over_has_no_frames_that_its_buffer_misses() -> None:
    resume = resume_point(history(None, Position(frames=800, version=5)), None, None, buffer_begins_empty=True)
    assert (resume.position.frames, resume.buffer_frames_lost) == (0, 0)
    assert "replay buffer" not in resume.sentence
