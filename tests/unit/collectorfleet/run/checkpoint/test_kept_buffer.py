"""A replay buffer in checkpoints: with its content, or not at all."""

from __future__ import annotations

import errno
import logging
import os
import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from ray.exceptions import RayTaskError
from tensordict import TensorDict
from tests.unit.collectorfleet.run.volume import on_a_volume_of_1_mb
from torchrl.data import LazyTensorStorage, ListStorage, PrioritizedSampler, TensorDictReplayBuffer

from collectorfleet.durable_files import size_bytes
from collectorfleet.errors import UserCodeError
from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position

SIZE = 40


def make_buffer(storage: type[Any] = LazyTensorStorage) -> TensorDictReplayBuffer:
    return TensorDictReplayBuffer(
        storage=storage(SIZE), sampler=PrioritizedSampler(SIZE, alpha=1.0, beta=1.0), batch_size=32
    )


def frames(first: int, number: int) -> TensorDict:
    return TensorDict({"x": torch.arange(first, first + number)}, [number])


def opened(path: Path, buffer: TensorDictReplayBuffer) -> Checkpointer:
    """A driver that begins, with ``buffer`` as the user's factory built it."""
    folder = CheckpointFolder(path, fleet="cheetah", run="run-1")
    newest = folder.newest
    state = TrainingState(newest.state_file if newest else None)
    made = Checkpointer(folder, state, timedelta(seconds=60), taken_over=pytest.fail, clock=lambda: 0.0)
    made.keep_buffer(buffer)
    return made


def opened_with_frames(path: Path, kind: type[TensorDictReplayBuffer]) -> Checkpointer:
    buffer = kind(storage=LazyTensorStorage(SIZE))
    checkpoints = opened(path, buffer)
    buffer.extend(frames(0, 3))
    return checkpoints


def failure_of(checkpoints: Checkpointer) -> str:
    assert checkpoints.status is not None
    assert checkpoints.status.failure is not None
    return checkpoints.status.failure


def as_ray_raises(error: Exception) -> Exception:
    """The error of a call of an actor whose method raised ``error``."""
    return RayTaskError("dumps", "Traceback", error).as_instanceof_cause()


def test_a_restarted_driver_has_the_frames_the_cursor_and_the_priorities(tmp_path: Path) -> None:
    buffer = make_buffer()
    checkpoints = opened(tmp_path, buffer)
    buffer.extend(frames(0, 30))
    # Only frame 7 is ever sampled.
    buffer.update_priority(torch.arange(30), torch.full((30,), 1e-12))
    buffer.update_priority(torch.tensor([7]), torch.tensor([1e6]))
    assert checkpoints.write(Position(frames=30))
    buffer.extend(frames(100, 10))

    again = make_buffer()
    opened(tmp_path, again)
    assert torch.equal(again[:]["x"], torch.arange(30))
    assert set(again.sample()["x"].tolist()) == {7}
    again.extend(frames(30, 15))
    # It goes on where it was, and then from the front.
    assert again[:]["x"].tolist() == [40, 41, 42, 43, 44, *range(5, 40)]


def test_a_buffer_without_frames_is_in_no_checkpoint_and_stops_none(tmp_path: Path) -> None:
    checkpoints = opened(tmp_path, make_buffer())
    assert checkpoints.write(Position())
    newest = CheckpointFolder(tmp_path, fleet="cheetah", run="run-1").newest
    assert newest is not None
    assert newest.replay_buffer is None


def test_a_checkpoint_that_is_passed_over_takes_its_buffer_along(tmp_path: Path) -> None:
    buffer = make_buffer()
    checkpoints = opened(tmp_path, buffer)
    for number in (1, 2):
        buffer.extend(frames(number, 1))
        assert checkpoints.write(Position(frames=number))
    (tmp_path / "checkpoint-000002" / "state.pt").write_bytes(b"torn")
    again = make_buffer()
    opened(tmp_path, again)
    assert again[:]["x"].tolist() == [1]


def test_what_is_written_after_a_restart_leaves_the_checkpoint_as_it_is(tmp_path: Path) -> None:
    buffer = make_buffer()
    checkpoints = opened(tmp_path, buffer)
    buffer.extend(frames(0, SIZE))
    assert checkpoints.write(Position(frames=SIZE))
    for _ in range(2):
        again = make_buffer()
        opened(tmp_path, again)
        assert torch.equal(again[:]["x"], torch.arange(SIZE))
        again.extend(frames(1000, SIZE))


def test_a_dump_that_a_killed_driver_left_is_in_nobodys_way(tmp_path: Path) -> None:
    buffer = make_buffer()
    checkpoints = opened(tmp_path, buffer)
    buffer.extend(frames(0, 3))
    checkpoints._snapshot(memoryview(b""))
    assert checkpoints.write(Position(frames=3))
    assert [path.name for path in tmp_path.glob(".driver-*/*")] == ["driver.json"]


def test_a_buffer_that_cannot_be_dumped_fails_the_run_at_its_first_checkpoint(tmp_path: Path) -> None:
    buffer = make_buffer(ListStorage)
    checkpoints = opened(tmp_path, buffer)
    buffer.extend(frames(0, 3))
    with pytest.raises(UserCodeError, match=r"^replayBuffer.checkpoint: .* actor, .*, cannot write .*ListStorage"):
        checkpoints.write_in_background(Position(frames=3))


def test_a_buffer_that_does_not_fit_the_checkpoint_is_refused(tmp_path: Path) -> None:
    buffer = make_buffer()
    checkpoints = opened(tmp_path, buffer)
    buffer.extend(frames(0, 3))
    assert checkpoints.write(Position(frames=3))
    with pytest.raises(UserCodeError, match=r"^replayBuffer.checkpoint: .* actor, .*, cannot read .*ListStorage"):
        opened(tmp_path, make_buffer(ListStorage))


def test_a_full_volume_costs_checkpoints_and_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # A full one would kill the process that dumps, by SIGBUS: the room is asked for before.
    buffer = make_buffer()
    checkpoints = opened(tmp_path, buffer)
    buffer.extend(frames(0, 3))
    assert checkpoints.write(Position(frames=3))
    needed = size_bytes(tmp_path / "checkpoint-000001" / "replay-buffer")
    with monkeypatch.context() as full:
        for free in (needed - 1, needed - 2):
            full.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free, total=2**30))
            checkpoints.write_in_background(Position(frames=4))
            assert failure_of(checkpoints) == (
                f"OSError: [Errno 28] No space left on device ({needed:,} bytes needed for a dump of the buffer, "
                f"{free:,} left): '{tmp_path}'; make room on the volume"
            )
        assert len([one for one in caplog.messages if one.startswith("cannot write a checkpoint")]) == 1
        status = checkpoints.status
        assert status is not None
        assert status.frames == 3
        full.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=needed))
        assert checkpoints.write(Position(frames=4))


class WritesHalf(TensorDictReplayBuffer):
    """A buffer whose actor writes half a dump and then fails."""

    def dumps(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "half").write_bytes(b"half")
        raise ValueError("the actor fails")


def test_half_a_dump_is_removed_and_its_failure_ends_the_run_at_its_first_checkpoint(tmp_path: Path) -> None:
    checkpoints = opened_with_frames(tmp_path, WritesHalf)
    with pytest.raises(UserCodeError, match=r"replayBuffer.checkpoint: .* actor, .*, cannot write to .*actor fails"):
        checkpoints.write_in_background(Position(frames=3))
    assert [path.name for path in tmp_path.glob(".driver-*/*")] == ["driver.json"]


def test_half_a_dump_on_a_full_volume_is_removed_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = opened_with_frames(tmp_path, WritesHalf)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2**20 - 1, total=2**30))
    checkpoints.write_in_background(Position(frames=3))
    assert "(1,048,576 bytes needed for a dump of the buffer, 1,048,575 left)" in failure_of(checkpoints)
    assert [path.name for path in tmp_path.glob(".driver-*/*")] == ["driver.json"]


class OnAFailingVolume(TensorDictReplayBuffer):
    """A buffer whose dump raises ``error``."""

    error: Exception

    def dumps(self, folder: Path) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), "Disk quota exceeded"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "Input/output error"),
        (RuntimeError("unable to write to file </data/x.memmap>: No space left on device (28)"), "/data/x.memmap"),
        (as_ray_raises(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))), "No space left on device"),
    ],
    ids=["full", "quota", "failing", "mapped by torch", "in an actor"],
)
def test_a_volume_that_fails_the_first_dump_does_not_end_the_run(
    tmp_path: Path, error: Exception, reported: str
) -> None:
    checkpoints = opened_with_frames(tmp_path, OnAFailingVolume)
    checkpoints._buffer._buffer.error = error
    checkpoints.write_in_background(Position(frames=3))
    assert reported in failure_of(checkpoints)


def test_a_volume_that_became_read_only_before_the_first_dump_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = opened_with_frames(tmp_path, OnAFailingVolume)
    error = checkpoints._buffer._buffer.error = OSError(errno.EROFS, os.strerror(errno.EROFS))
    monkeypatch.setattr(Path, "mkdir", Mock(side_effect=error))
    checkpoints.write_in_background(Position(frames=3))
    assert f"Read-only file system: '{tmp_path}'; mount the volume" in failure_of(checkpoints)


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied"),
        FileNotFoundError(errno.ENOENT, "No such file"),
        OSError(errno.EROFS, "Read-only file system"),
    ],
    ids=["forbidden", "missing", "read-only in its pod"],
)
def test_a_folder_that_the_actor_does_not_have_ends_the_run_at_its_first_checkpoint(
    tmp_path: Path, error: Exception
) -> None:
    checkpoints = opened_with_frames(tmp_path, OnAFailingVolume)
    checkpoints._buffer._buffer.error = error
    with pytest.raises(UserCodeError, match=r"actor, which has to run in the driver's pod"):
        checkpoints.write_in_background(Position(frames=3))


def test_how_long_a_dump_took_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    times = iter([3.0, 3.0, 3.0, 8.0, 8.0, 8.0])
    folder = CheckpointFolder(tmp_path, fleet="cheetah", run="run-1")
    made = Checkpointer(folder, TrainingState(), timedelta(seconds=60), pytest.fail, clock=lambda: next(times))
    buffer = make_buffer()
    made.keep_buffer(buffer)
    buffer.extend(frames(0, 3))
    with caplog.at_level(logging.INFO):
        assert made.write(Position(frames=3))
    assert "the replay buffer was dumped in 5.00 s" in caplog.messages


DUMP = """
import sys
from functools import partial
from pathlib import Path

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer, TensorDictReplayBuffer

from collectorfleet.run.checkpoint.kept_buffer import KeptBuffer

folder, kind = Path(sys.argv[1]), %r
if kind == "pytrees":
    buffer = ReplayBuffer(storage=LazyTensorStorage(10_000))
    buffer.extend((torch.ones(10, 100), {"y": torch.ones(10, dtype=torch.int64)}))
else:
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(10_000))
    buffer.extend(TensorDict({"x": torch.ones(10, 100), "y": torch.ones(10, dtype=torch.int64)}, [10]))
try:
    KeptBuffer(buffer).dump(folder / "replay-buffer")
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["tensordicts", "pytrees"])
def test_the_first_dump_without_room_is_refused_with_its_size_and_kills_nobody(tmp_path: Path, kind: str) -> None:
    done = on_a_volume_of_1_mb(tmp_path, DUMP % kind)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(
        r"\[Errno 28\] No space left on device \(([\d,]+) bytes needed for a dump of the buffer, [\d,]+ left\)",
        done.stdout.splitlines()[-1],
    )
    assert found is not None
    assert int(found[1].replace(",", "")) >= 10_000 * 408
