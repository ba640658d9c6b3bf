"""The replay buffer that a fleet without training fills, and its dumps."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ListStorage, ReplayBuffer, TensorDictMaxValueWriter, TensorDictReplayBuffer

from collectorfleet import UserCodeError
from collectorfleet.durable_files import size_bytes
from collectorfleet.errors import InfrastructureError
from collectorfleet.run.output import replay_buffer
from collectorfleet.run.output.folder import MANIFEST, PART
from collectorfleet.run.output.replay_buffer import ReplayWriter
from collectorfleet.run.position import Position


def buffer() -> TensorDictReplayBuffer:
    return TensorDictReplayBuffer(storage=LazyTensorStorage(100), batch_size=4)


def writer(folder: Path, run_id: str = "run-1", dump_seconds: float = 1e9) -> ReplayWriter:
    return ReplayWriter(str(folder), buffer(), fleet="cheetah", run_id=run_id, dump_seconds=dump_seconds)


def batch(first: int) -> TensorDict:
    frames = torch.arange(first, first + 10).view(2, 5)
    versions = torch.full((2, 5), first // 10 + 1)
    return TensorDict({"frame": frames, "collector": {"weights_version": versions}}, batch_size=[2, 5])


def held(out: ReplayWriter) -> list[int]:
    return sorted(int(frame) for frame in out.buffer[:]["frame"])


def test_a_restarted_driver_goes_on_behind_the_dump(tmp_path: Path) -> None:
    first = writer(tmp_path)
    first.write(batch(0))
    first.flush()
    first.write(batch(10))  # never dumped
    again = writer(tmp_path)
    assert held(again) == list(range(10))
    assert (again.frames, again.position.version, again.position.batches) == (10, 1, 1)
    again.write(batch(20))
    again.flush()
    assert held(writer(tmp_path)) == [*range(10), *range(20, 30)]
    assert [path.name for path in tmp_path.glob("dump-*")] == ["dump-000001"]


def test_a_buffer_whose_writer_has_a_dump_but_no_state_dict_is_dumped(tmp_path: Path) -> None:
    best = TensorDictReplayBuffer(
        storage=LazyTensorStorage(5), writer=TensorDictMaxValueWriter(rank_key="frame"), batch_size=4
    )
    with pytest.raises(NotImplementedError):
        best.state_dict()
    out = ReplayWriter(str(tmp_path), best, fleet="cheetah", run_id="run-1")
    out.write(batch(0))
    out.flush()
    assert dumps(tmp_path) == ["dump-000000"]
    assert held(out) == [5, 6, 7, 8, 9]


def test_a_batch_of_more_frames_than_the_buffer_has_places_fills_each_place_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[list[int]] = []
    write = LazyTensorStorage.set

    def recorded(storage: LazyTensorStorage, cursor: torch.Tensor, *args: Any, **options: Any) -> None:
        writes.append(cursor.tolist())
        write(storage, cursor, *args, **options)

    monkeypatch.setattr(LazyTensorStorage, "set", recorded)
    small = TensorDictReplayBuffer(storage=LazyTensorStorage(4), batch_size=4)
    out = ReplayWriter(str(tmp_path), small, fleet="cheetah", run_id="run-1")
    out.write(batch(0))
    assert [len(set(places)) for places in writes] == [len(places) for places in writes]
    assert held(out) == [6, 7, 8, 9]
    assert out.frames == 10


def dumps(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("dump-*")]


def test_a_new_writer_has_no_frames_and_dumps_nothing_until_it_has_some(tmp_path: Path) -> None:
    out = writer(tmp_path)
    assert out.position == Position(frames=0, batches=0, version=0)
    assert json.loads((tmp_path / MANIFEST).read_text())["weightsVersion"] == 0
    out.flush()
    assert dumps(tmp_path) == []
    out.write(batch(0))
    for _ in range(2):
        out.flush()
        assert dumps(tmp_path) == ["dump-000000"]
    assert out.summary == f"10 frames went into the replay buffer in {tmp_path}"


def test_the_buffer_is_dumped_every_60_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=7.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(replay_buffer, "time", clock)
    out, seen = ReplayWriter(str(tmp_path), buffer(), fleet="cheetah", run_id="run-1"), []
    for clock.now in (66.9, 67.0, 126.9, 127.0):
        out.write(batch(0))
        seen += dumps(tmp_path) or [""]
    assert seen == ["", "dump-000000", "dump-000000", "dump-000001"]


@pytest.mark.parametrize("missing_bytes", [0, 1], ids=["room", "no room"])
def test_a_dump_begins_if_the_volume_has_room_for_another_one_like_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing_bytes: int
) -> None:
    out = writer(tmp_path, dump_seconds=0.0)
    out.write(batch(0))
    needed = size_bytes(tmp_path / "dump-000000")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - missing_bytes, total=10**9))
    if not missing_bytes:
        out.write(batch(10))
        assert dumps(tmp_path) == ["dump-000001"]
        return
    with pytest.raises(
        InfrastructureError, match=rf"\({needed:,} bytes needed for a dump of the buffer, {needed - 1:,} left\)"
    ):
        out.write(batch(10))
    assert dumps(tmp_path) == ["dump-000000"]


def test_what_the_users_buffer_raises_is_the_users_to_mend(tmp_path: Path) -> None:
    def extend(_frames: Any) -> None:
        raise ValueError("of the user's storage")

    out = writer(tmp_path)
    out.buffer.extend = extend
    with pytest.raises(UserCodeError, match=r"^output\.replayBuffer: ValueError: of the user's storage"):
        out.write(batch(0))
    assert out.frames == 0


def test_a_buffer_that_cannot_be_dumped_is_the_users_to_mend(tmp_path: Path) -> None:
    out = ReplayWriter(str(tmp_path), ReplayBuffer(batch_size=4), fleet="cheetah", run_id="run-1")
    out.write(batch(0))
    with pytest.raises(UserCodeError, match=r"^output\.replayBuffer: .*ListStorage"):
        out.flush()
    assert [path.name for path in tmp_path.glob("[!.]*")] == [MANIFEST]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(OSError(errno.ENOSPC, "No space left on device"), InfrastructureError, id="full volume"),
        pytest.param(RuntimeError("unable to mmap </a>: Input/output error (5)"), InfrastructureError, id="mapping"),
        pytest.param(PermissionError(errno.EACCES, "Permission denied"), UserCodeError, id="wrong path"),
    ],
)
def test_errors_of_the_disk_in_a_dump_name_the_path(tmp_path: Path, error: Exception, kind: type[Exception]) -> None:
    def dumps(_path: Path) -> None:
        raise error

    out = writer(tmp_path)
    out.write(batch(0))
    out.buffer.dumps = dumps
    with pytest.raises(kind, match=rf"^spec\.output\.path {tmp_path}: "):
        out.flush()


def test_what_is_no_replay_buffer_is_refused_before_the_first_batch(tmp_path: Path) -> None:
    with pytest.raises(UserCodeError, match=r"^output\.replayBuffer: AttributeError: 'list' object has no attribute"):
        ReplayWriter(str(tmp_path), [], fleet="cheetah", run_id="run-1")


def test_a_dump_that_does_not_fit_the_buffer_is_refused(tmp_path: Path) -> None:
    first = writer(tmp_path)
    first.write(batch(0))
    first.flush()
    other = TensorDictReplayBuffer(storage=ListStorage(100))
    with pytest.raises(UserCodeError, match=rf"^output\.replayBuffer: the dump in {tmp_path}: "):
        ReplayWriter(str(tmp_path), other, fleet="cheetah", run_id="run-1")


def test_what_a_killed_driver_left_half_written_is_removed(tmp_path: Path) -> None:
    first = writer(tmp_path, dump_seconds=0.0)
    first.write(batch(0))
    (tmp_path / ".unfinished-dump-000001").mkdir()
    (tmp_path / "dump-000001").mkdir()  # renamed, but not in the manifest yet
    (tmp_path / "dump-000001" / PART).write_text('{"run": "run-1", "part": "dump-000001"}')
    assert held(writer(tmp_path)) == list(range(10))
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["dump-000000", MANIFEST]


@pytest.mark.parametrize("dump", ["../others/dump-000000", "{}/others/dump-000000", "..", "", "shard-000000", 5])
def test_a_manifest_that_names_no_dump_of_the_folder_is_refused_and_nothing_outside_is_removed(
    tmp_path: Path, dump: object
) -> None:
    folder, others = tmp_path / "out", tmp_path / "others" / "dump-000000"
    others.mkdir(parents=True)
    first = writer(folder)
    first.write(batch(0))
    first.flush()
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["dump"] = dump.format(tmp_path) if isinstance(dump, str) else dump
    (folder / MANIFEST).write_text(json.dumps(manifest))

    def write_on() -> None:
        out = writer(folder, dump_seconds=0.0)
        out.write(batch(10))

    with pytest.raises(UserCodeError, match=r"was not written by a fleet: dump is .*, not a name such as dump-000000;"):
        write_on()
    assert others.is_dir()


def test_frames_that_are_masked_are_left_out(tmp_path: Path) -> None:
    out = writer(tmp_path)
    masked = batch(0)
    masked["collector", "mask"] = masked["frame"] < 7
    out.write(masked)
    out.flush()
    assert held(out) == list(range(7))
    assert json.loads((tmp_path / MANIFEST).read_text())["frames"] == 7


def test_another_runs_buffer_is_not_touched(tmp_path: Path) -> None:
    first = writer(tmp_path)
    first.write(batch(0))
    first.flush()
    with pytest.raises(UserCodeError, match="10 frames of another run of fleet cheetah"):
        writer(tmp_path, run_id="run-2")
