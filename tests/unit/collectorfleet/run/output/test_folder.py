"""What every format of an output has in common: whole parts, a manifest that lists them, one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectorfleet.errors import UserCodeError
from collectorfleet.run.output.folder import MANIFEST, OutputFolder

EMPTY: dict[str, Any] = {"format": "Text", "fleet": "cheetah", "run": "run-1", "frames": 0, "parts": []}


def with_part(path: Path, name: str = "part-0") -> OutputFolder:
    """A folder that lists one part of three frames."""
    folder = OutputFolder(str(path), EMPTY)
    with folder.new_part(name) as unfinished:
        unfinished.mkdir()
        (unfinished / "text").write_text("abc")
    folder.manifest["parts"].append(name)
    folder.manifest["frames"] += 3
    folder.save_manifest()
    return folder


def test_a_part_has_its_name_once_it_is_whole(tmp_path: Path) -> None:
    folder = OutputFolder(str(tmp_path), EMPTY)
    with folder.new_part("part-0") as unfinished:
        unfinished.mkdir()
        assert not (tmp_path / "part-0").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["part-0"]


def test_a_part_that_could_not_be_written_never_has_its_name(tmp_path: Path) -> None:
    folder = OutputFolder(str(tmp_path), EMPTY)

    def write() -> None:
        with folder.writing(), folder.new_part("part-0") as unfinished:
            unfinished.mkdir()
            raise OSError(28, "No space left on device")

    with pytest.raises(UserCodeError, match=rf"spec.output.path {tmp_path}: OSError: .*No space left"):
        write()
    assert not (tmp_path / "part-0").exists()


def test_the_next_driver_of_the_run_finds_the_manifest_and_removes_what_it_does_not_list(tmp_path: Path) -> None:
    with_part(tmp_path)
    (tmp_path / ".unfinished-part-1").mkdir()
    (tmp_path / f".unfinished-{MANIFEST}").write_text('{"form')
    (tmp_path / "part-1").mkdir()
    (tmp_path / "notes.txt").write_text("of a person")
    again = OutputFolder(str(tmp_path), EMPTY)
    assert again.manifest == EMPTY | {"frames": 3, "parts": ["part-0"]} == json.loads((tmp_path / MANIFEST).read_text())
    again.remove_unlisted("part-*", again.manifest["parts"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST, "notes.txt", "part-0"]


@pytest.mark.parametrize("other", [{"run": "run-2"}, {"format": "Pictures"}], ids=["run", "format"])
def test_what_is_of_another_run_or_format_is_refused(tmp_path: Path, other: dict[str, str]) -> None:
    with_part(tmp_path)
    with pytest.raises(UserCodeError, match="it holds 3 frames of another run of fleet cheetah; use an empty folder"):
        OutputFolder(str(tmp_path), EMPTY | other)
