"""What every format of an output has in common: whole parts, a manifest that lists them, one run."""

from __future__ import annotations

import errno
import json
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from collectorfleet.errors import FolderTakenOver, InfrastructureError, UserCodeError
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.output.folder import MANIFEST, PART, OutputFolder

EMPTY: dict[str, Any] = {"format": "Text", "fleet": "cheetah", "run": "run-1", "frames": 0, "parts": []}


def opened(path: Path, empty: dict[str, Any] = EMPTY) -> OutputFolder:
    return OutputFolder(str(path), "part", deepcopy(empty))


def names(path: Path) -> list[str]:
    """What a person sees of the folder."""
    return sorted(one.name for one in path.iterdir() if not one.name.startswith(".driver-"))


def with_part(path: Path, name: str = "part-000000") -> OutputFolder:
    """A folder that lists one part of three frames."""
    folder = opened(path)
    add_part(folder, name, "abc")
    return folder


def add_part(folder: OutputFolder, name: str, text: str) -> None:
    with folder.new_part(name) as unfinished:
        unfinished.mkdir()
        (unfinished / "text").write_text(text)
    folder.manifest["parts"].append(name)
    folder.manifest["frames"] += 3
    folder.save_manifest()


def unlisted_part(path: Path, name: str = "part-000001", run: str = "run-1") -> None:
    """What a driver of ``run`` leaves if it is killed before it lists the part."""
    (path / name).mkdir()
    (path / name / PART).write_text(json.dumps({"run": run, "part": name}))


def test_a_part_has_its_name_once_it_is_whole(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    with folder.new_part("part-000000") as unfinished:
        unfinished.mkdir()
        assert not (tmp_path / "part-000000").exists()
    assert names(tmp_path) == ["part-000000"]


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, InfrastructureError),
        (errno.EDQUOT, InfrastructureError),
        (errno.EIO, InfrastructureError),
        (errno.EROFS, UserCodeError),
        (errno.EACCES, UserCodeError),
    ],
)
def test_a_part_that_could_not_be_written_never_has_its_name(
    tmp_path: Path, number: int, error: type[Exception]
) -> None:
    """A volume that is full or fails may be mended at the next try; a wrong place stays wrong."""
    folder = opened(tmp_path)

    def write() -> None:
        with folder.writing(), folder.new_part("part-000000") as unfinished:
            unfinished.mkdir()
            raise OSError(number, "the volume's words")

    with pytest.raises(error, match=rf"^spec.output.path {tmp_path}: \w+Error: .*the volume's words"):
        write()
    assert not (tmp_path / "part-000000").exists()


def test_a_file_that_torch_cannot_map_is_the_volumes_fault_with_its_path_and_room(tmp_path: Path) -> None:
    folder = opened(tmp_path)

    def write(cause: str) -> None:
        with folder.writing():
            raise RuntimeError(f"unable to write to file <{tmp_path}/a.memmap>: {cause}")

    room = rf"No space left on device \([\d,]+ of [\d,]+ bytes left\): '{tmp_path}/a.memmap'"
    said = rf"^spec.output.path {tmp_path}: OSError: \[Errno 28\] {room}; make room on the volume$"
    with pytest.raises(InfrastructureError, match=said):
        write("No space left on device (28)")
    with pytest.raises(UserCodeError, match=r"\[Errno 30\] Read-only file system"):
        write("Read-only file system (30)")
    with pytest.raises(RuntimeError, match="another reason"):
        write("another reason")


def test_the_next_driver_of_the_run_finds_the_manifest_and_removes_what_it_does_not_list(tmp_path: Path) -> None:
    with_part(tmp_path)
    (tmp_path / ".unfinished-part-000001").mkdir()
    (tmp_path / f".unfinished-{MANIFEST}").write_text('{"form')
    unlisted_part(tmp_path)
    (tmp_path / "notes.txt").write_text("of a person")
    again = opened(tmp_path)
    assert again.manifest == EMPTY | {"frames": 3, "parts": ["part-000000"]}
    assert again.manifest == json.loads((tmp_path / MANIFEST).read_text())
    again.remove_unlisted(again.manifest["parts"])
    assert names(tmp_path) == [MANIFEST, "notes.txt", "part-000000"]


@pytest.mark.parametrize("other", [{"run": "run-2"}, {"format": "Pictures"}], ids=["run", "format"])
def test_what_is_of_another_run_or_format_is_refused(tmp_path: Path, other: dict[str, str]) -> None:
    with_part(tmp_path)
    with pytest.raises(UserCodeError, match="it has 3 frames of another run of fleet cheetah; use an empty folder"):
        opened(tmp_path, EMPTY | other)


def test_a_driver_that_lost_its_fleet_changes_nothing_of_what_the_next_one_writes(tmp_path: Path) -> None:
    first = with_part(tmp_path)
    second = opened(tmp_path)
    add_part(second, "part-000001", "second")

    with pytest.raises(FolderTakenOver, match=f"^{tmp_path}: another driver has taken over the folder"):
        add_part(first, "part-000001", "first")
    with pytest.raises(FolderTakenOver):
        first.save_manifest()
    with pytest.raises(FolderTakenOver):
        first.remove_unlisted(set())

    add_part(second, "part-000002", "second")
    assert names(tmp_path) == [MANIFEST, "part-000000", "part-000001", "part-000002"]
    assert (tmp_path / "part-000001" / "text").read_text() == "second"
    assert json.loads((tmp_path / MANIFEST).read_text())["parts"] == ["part-000000", "part-000001", "part-000002"]


FOREIGN = ["shard-000000.tar", "shard-000001.tar", "shard-index.json", "part-000000"]


def test_a_folder_with_other_files_is_refused_and_keeps_them(tmp_path: Path) -> None:
    for name in FOREIGN:
        (tmp_path / name).write_text(name)
    with pytest.raises(UserCodeError, match="it is not empty and has no output of a fleet; use an empty folder"):
        opened(tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(FOREIGN)


def test_other_files_that_came_later_are_kept(tmp_path: Path) -> None:
    with_part(tmp_path)
    for name in (*FOREIGN[:-1], "part-000009"):
        (tmp_path / name).write_text("a file, which no part is")
    (tmp_path / "part-old").mkdir()
    again = opened(tmp_path)
    again.remove_unlisted(again.manifest["parts"])
    assert names(tmp_path) == sorted([MANIFEST, *FOREIGN, "part-000009", "part-old"])


def test_only_parts_that_this_run_wrote_are_removed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with_part(tmp_path)
    (tmp_path / "part-000007").mkdir()
    (tmp_path / "part-000007" / "text").write_text("of a person")
    unlisted_part(tmp_path, "part-000008", run="run-2")
    unlisted_part(tmp_path, "part-000009")
    (tmp_path / "part-000009").rename(tmp_path / "part-000010")  # a person's copy
    unlisted_part(tmp_path, "elsewhere")
    (tmp_path / "elsewhere" / PART).write_text(json.dumps({"run": "run-1", "part": "part-000011"}))
    (tmp_path / "part-000011").symlink_to("elsewhere")
    unlisted_part(tmp_path, "part-000012")
    (tmp_path / "part-000013").mkdir()
    (tmp_path / "part-000013" / PART).mkdir()
    before = names(tmp_path)

    again = opened(tmp_path)
    again.remove_unlisted(again.manifest["parts"])
    assert names(tmp_path) == [name for name in before if name != "part-000012"]
    assert f"{tmp_path / 'part-000007'} was not written by this run and is kept" in caplog.text


def test_a_name_that_somebody_else_uses_is_skipped(tmp_path: Path) -> None:
    folder = with_part(tmp_path)
    (tmp_path / "part-000001").mkdir()
    (tmp_path / "part-000002").symlink_to("nowhere")
    assert folder.name_after("part-000000") == "part-000003"
    assert folder.name_after(None) == "part-000003"
    assert folder.name_after("part-000005") == "part-000006"


@pytest.mark.parametrize("frames", [-1, True, 2**63], ids=["negative", "truth value", "too large"])
def test_a_wrong_count_of_frames_is_refused_in_a_sentence(tmp_path: Path, frames: object) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(EMPTY | {"frames": frames}))
    with pytest.raises(UserCodeError, match=f"its {MANIFEST} was not written by a fleet"):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["lost+found", ".DS_Store", ".nfs000000000001", ".snapshot"])
def test_what_file_systems_put_into_a_folder_leaves_it_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert with_part(tmp_path).manifest["frames"] == 3
    assert (tmp_path / name).exists()


@pytest.mark.parametrize(
    "text",
    ["", '{"form', "[]", "null", "[" * 100_000, '{"format": "Text", "run": "run-1"}', json.dumps(EMPTY | {"parts": 5})],
    ids=["empty", "half", "list", "null", "deep", "without frames", "parts that are a number"],
)
def test_a_manifest_that_no_fleet_wrote_is_refused_in_a_sentence_and_kept(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    said = f"^spec.output.path {tmp_path}: its {MANIFEST} was not written by a fleet; use an empty folder$"
    with pytest.raises(UserCodeError, match=said):
        opened(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == [MANIFEST]
    assert (tmp_path / MANIFEST).read_text() == text


def test_a_part_that_is_not_needed_and_cannot_be_removed_costs_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = with_part(tmp_path)
    monkeypatch.setattr(FencedFolder, "remove", Mock(side_effect=OSError(errno.EBUSY, "busy")))
    folder.remove_part("part-000000")
    assert f"part-000000 in {tmp_path} is not needed and cannot be removed: OSError: [Errno 16] busy" in caplog.text
