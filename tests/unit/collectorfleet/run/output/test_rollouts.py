"""Rollouts on disk: what the manifest lists is whole, whenever the driver was killed."""

from __future__ import annotations

import gc
import json
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tensordict import LazyStackedTensorDict, TensorClass, TensorDict

from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.errors import UserCodeError
from collectorfleet.run.output import rollouts
from collectorfleet.run.output.folder import MANIFEST, PART
from collectorfleet.run.output.rollouts import RolloutWriter
from collectorfleet.run.position import Position


class Reading(TensorClass):
    value: torch.Tensor


def batch(first: int, frames: int = 10) -> TensorDict:
    frame_numbers = torch.arange(first, first + frames)
    return TensorDict({"frame": frame_numbers, VERSION_KEY: frame_numbers // 10 + 1}, batch_size=[frames])


def writer(folder: Path, run_id: str = "run-1", **options: float) -> RolloutWriter:
    return RolloutWriter(str(folder), fleet="cheetah", run_id=run_id, **options)  # type: ignore[arg-type]


def frames(folder: Path) -> list[int]:
    shards = json.loads((folder / MANIFEST).read_text())["shards"]
    return [int(f) for shard in shards for f in TensorDict.load_memmap(folder / shard["name"])["frame"].flatten()]


def test_batches_come_back_in_their_order_with_their_versions(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "rollouts"
    out = writer(folder, shard_bytes=250)
    for first in range(0, 50, 10):
        out.write(batch(first))
    out.flush()
    assert frames(folder) == list(range(50))
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (out.frames, out.shards) == (50, 3)
    assert manifest["shards"][0] == {
        "name": "shard-000000",
        "shape": [2, 10],
        "frames": 20,
        "weightsVersions": {"min": 1, "max": 2},
    }


def test_a_batch_may_be_used_again_once_it_is_written(tmp_path: Path) -> None:
    out = writer(tmp_path)
    buffer = batch(0)
    out.write(buffer)
    buffer["frame"].fill_(-1)
    out.flush()
    assert frames(tmp_path) == list(range(10))


def test_the_memory_of_a_batch_is_free_once_it_is_written(tmp_path: Path) -> None:
    """The fleet collector then reuses the memory for the next batch."""
    out = writer(tmp_path)
    buffer = batch(0)
    seen = weakref.ref(buffer["frame"])
    gc.disable()
    try:
        out.write(buffer)
        del buffer
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("lazy", [False, True])
def test_the_tensors_of_a_tensorclass_count_as_bytes_of_a_shard(tmp_path: Path, lazy: bool) -> None:
    out = writer(tmp_path, shard_bytes=4000)
    made = batch(0)
    made["reading"] = Reading(value=torch.zeros(10, 100), batch_size=[10])
    out.write(LazyStackedTensorDict.lazy_stack([made]) if lazy else made)
    assert out.shards == 1


def test_a_shard_of_a_long_output_takes_few_bytes_of_the_manifest(tmp_path: Path) -> None:
    """The driver writes the whole manifest after each shard, and a month has 250,000 shards."""
    out = writer(tmp_path, shard_bytes=1)
    for first in range(0, 500, 10):
        out.write(batch(first))
    assert (tmp_path / MANIFEST).stat().st_size / out.shards < 120


def test_batches_of_different_shapes_go_into_different_shards(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write(batch(0, frames=10))
    out.write(batch(10, frames=4))
    out.write(batch(14, frames=10))
    out.flush()
    assert out.shards == 3
    assert frames(tmp_path) == list(range(24))


def test_padding_is_no_frame(tmp_path: Path) -> None:
    out = writer(tmp_path)
    padded = batch(10)
    padded[VERSION_KEY][7:] = 0
    padded["collector", "mask"] = padded[VERSION_KEY] > 0
    out.write(padded)
    out.flush()
    (shard,) = json.loads((tmp_path / MANIFEST).read_text())["shards"]
    assert (shard["shape"], shard["frames"], shard["weightsVersions"]) == ([1, 10], 7, {"min": 2, "max": 2})
    assert out.frames == 7


def test_views_of_the_object_store_are_written_as_any_batch(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for first in (0, 20):
        out.write(LazyStackedTensorDict.lazy_stack([batch(first), batch(first + 10)]))
    out.flush()
    assert frames(tmp_path) == list(range(40))


def test_a_batch_does_not_wait_for_long(tmp_path: Path) -> None:
    out = writer(tmp_path, shard_seconds=0)
    out.write(batch(0))
    assert frames(tmp_path) == list(range(10))


def test_a_shard_is_written_ten_seconds_after_its_first_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=7.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(rollouts, "time", clock)
    out, written = writer(tmp_path), []
    for clock.now in (7.0, 16.9, 17.0, 20.0, 29.9, 30.0):
        out.write(batch(0))
        written.append(out.shards)
    assert written == [0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize(("shard_bytes", "written"), [(320, [0, 1, 1, 2]), (321, [0, 0, 1, 1])])
def test_a_shard_is_written_once_it_has_its_size(tmp_path: Path, shard_bytes: int, written: list[int]) -> None:
    out, shards = writer(tmp_path, shard_bytes=shard_bytes, shard_seconds=1e9), []
    for _ in range(4):
        out.write(batch(0))  # 160 bytes
        shards.append(out.shards)
    assert shards == written


def test_a_shard_has_64_mib_unless_it_is_late(tmp_path: Path) -> None:
    out, written = writer(tmp_path, shard_seconds=1e9), []
    pixels, version = torch.zeros(1, 2**20 - 8, dtype=torch.uint8), torch.ones(1, dtype=torch.int64)
    of_one_mib = TensorDict({"frame": pixels, VERSION_KEY: version}, [1])
    for _ in range(64):
        out.write(of_one_mib)
        written.append(out.shards)
    assert written == [0] * 63 + [1]


def test_the_next_driver_goes_on_behind_the_batches_and_versions_of_all_shards(tmp_path: Path) -> None:
    out = writer(tmp_path)
    assert out.position == Position(frames=0, batches=0, version=0)
    for first in (20, 0, 10):
        out.write(batch(first))
        if first != 0:
            out.flush()
    assert out.position == writer(tmp_path).position == Position(frames=30, batches=3, version=3)


def test_a_shard_that_a_person_moved_away_leaves_its_name_unused(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for first in (0, 10, 20):
        out.write(batch(first))
        out.flush()
        if first == 10:
            shutil.rmtree(tmp_path / "shard-000001")
    listed = json.loads((tmp_path / MANIFEST).read_text())["shards"]
    assert [shard["name"] for shard in listed] == ["shard-000000", "shard-000001", "shard-000002"]


def test_the_sentence_about_the_output_counts_frames_and_shards(tmp_path: Path) -> None:
    out = writer(tmp_path)
    assert out.summary == f"0 frames in 0 shards are in {tmp_path}"
    said = []
    for first in (0, 1):
        out.write(batch(first, frames=1))
        out.flush()
        said.append(out.summary)
    assert said == [f"1 frame in 1 shard is in {tmp_path}", f"2 frames in 2 shards are in {tmp_path}"]


def test_a_driver_that_was_killed_goes_on_behind_the_last_whole_shard(tmp_path: Path) -> None:
    first = writer(tmp_path)
    first.write(batch(0))
    first.flush()
    # Killed while it wrote one shard, before it listed another, and with a manifest half written.
    (tmp_path / ".unfinished-shard-000002").mkdir()
    (tmp_path / ".unfinished-shard-000002" / "frame.memmap").write_bytes(b"half")
    batch(10).unsqueeze(0).memmap(str(tmp_path / "shard-000001"))
    (tmp_path / "shard-000001" / PART).write_text('{"run": "run-1", "part": "shard-000001"}')
    (tmp_path / f".unfinished-{MANIFEST}").write_text('{"format"')

    second = writer(tmp_path)
    assert second.frames == 10
    second.write(batch(100))
    second.flush()
    assert frames(tmp_path) == [*range(10), *range(100, 110)]
    assert sorted(p.name for p in tmp_path.glob("[!.]*")) == [MANIFEST, "shard-000000", "shard-000001"]


def test_a_folder_of_somebody_else_that_has_the_name_of_a_shard_is_kept(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write(batch(0))
    out.flush()
    (tmp_path / "shard-000001").mkdir()
    (tmp_path / "shard-000001" / "notes.txt").write_text("of a person")
    again = writer(tmp_path)
    again.write(batch(10))
    again.flush()
    assert frames(tmp_path) == list(range(20))
    assert (tmp_path / "shard-000001" / "notes.txt").read_text() == "of a person"
    assert (tmp_path / "shard-000002").is_dir()


SHARD: dict[str, Any] = {
    "name": "shard-000000",
    "shape": [1, 10],
    "frames": 10,
    "weightsVersions": {"min": 1, "max": 1},
}


@pytest.mark.parametrize(
    ("shard", "said"),
    [
        (5, "shards[0] is 5, not a shard"),
        (SHARD | {"name": "../other"}, "shards[0].name is '../other', not a name such as shard-000000"),
        (SHARD | {"name": "/data/shard-000000"}, "shards[0].name is '/data/shard-000000', not a name such as"),
        (SHARD | {"name": None}, "shards[0].name is None, not a name such as shard-000000"),
        (SHARD | {"name": "shard-000000\n"}, "shards[0].name is 'shard-000000\\n', not a name"),
        (SHARD | {"shape": []}, "shards[0].shape is [], not a list of sizes"),
        (SHARD | {"shape": [-1]}, "shards[0].shape is [-1], not a list of sizes"),
        (SHARD | {"shape": ["1"] * 40}, "shards[0].shape is ['1', '1', '1', '1', '1', '1', '1', '1',..., not a list"),
        (SHARD | {"frames": -10}, "shards[0].frames is -10, not a whole number from 0 to 2^63 - 1"),
        (SHARD | {"frames": 2**63}, f"shards[0].frames is {2**63}, not a whole number from 0 to 2^63 - 1"),
        (SHARD | {"weightsVersions": 3}, "shards[0].weightsVersions is 3, not a range"),
        (SHARD | {"weightsVersions": {"min": 1}}, "shards[0].weightsVersions.max is None, not a whole number"),
    ],
)
def test_a_wrong_entry_of_the_manifest_is_refused_in_a_sentence(tmp_path: Path, shard: object, said: str) -> None:
    manifest = {"format": "TensorDict", "fleet": "cheetah", "run": "run-1", "frames": 10, "shards": [shard]}
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UserCodeError) as refused:
        writer(tmp_path)
    assert str(refused.value).startswith(
        f"spec.output.path {tmp_path}: its {MANIFEST} was not written by a fleet: {said}"
    )
    assert str(refused.value).endswith("; use an empty folder")


def test_another_run_does_not_mix_its_rollouts_into_the_folder(tmp_path: Path) -> None:
    first = writer(tmp_path)
    first.write(batch(0))
    first.flush()
    with pytest.raises(UserCodeError, match="has 10 frames of another run of fleet cheetah; use an empty folder"):
        writer(tmp_path, run_id="run-2")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserCodeError, match=r"spec\.output\.path .*/file/rollouts: NotADirectoryError"):
        writer(tmp_path / "file" / "rollouts")
