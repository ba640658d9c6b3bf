"""A driver that is killed between any two of its system calls leaves an output of whole parts."""

from __future__ import annotations

import json
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.unit.collectorfleet.run.interleaving import Killed, Paused, no_chance_and_no_disk

from collectorfleet.run.output.folder import MANIFEST, OutputFolder

EMPTY: dict[str, Any] = {"format": "Text", "fleet": "cheetah", "run": "run-1", "frames": 0, "parts": []}
WRITES = 3


def opened(path: Path) -> OutputFolder:
    """As the writers of both formats open it: what the manifest does not list is removed first."""
    folder = OutputFolder(str(path), "part", deepcopy(EMPTY))
    folder.remove_unlisted(folder.manifest["parts"])
    folder.save_manifest()
    return folder


def write(folder: OutputFolder) -> None:
    """Write one more part of two files."""
    parts = folder.manifest["parts"]
    name = folder.name_after(parts[-1] if parts else None)
    with folder.new_part(name) as place:
        place.mkdir()
        (place / "text").write_text(name)
        (place / "more").write_text(name)
    folder.manifest["parts"].append(name)
    folder.manifest["frames"] += 10
    folder.save_manifest()


class Writer(Paused):
    """Writes parts, of which ``written`` has the number."""

    def __init__(self, path: Path) -> None:
        self.written = 0
        self._path = path
        super().__init__(path, self._write)

    def _write(self) -> None:
        folder = opened(self._path)
        for _ in range(WRITES):
            write(folder)
            self.written += 1


def parts_in(path: Path) -> list[str]:
    """What readers find: the parts of the manifest, each of them whole."""
    listed: list[str] = json.loads((path / MANIFEST).read_text())["parts"]
    for name in listed:
        assert {one.name: one.read_text() for one in (path / name).glob("[!.]*")} == {"text": name, "more": name}
    return listed


@pytest.mark.parametrize("torn", [False, True], ids=["between calls", "in a write"])
def test_a_writer_that_is_killed_between_any_two_calls_leaves_whole_parts_and_the_next_one_goes_on_behind_them(
    torn: bool,
) -> None:
    for steps in range(1000):
        with tempfile.TemporaryDirectory() as name, no_chance_and_no_disk(0):
            path = Path(name)
            writer = Writer(path)
            for _ in range(steps):
                writer.step()
                if writer.has_ended:
                    break
            if writer.has_ended:
                assert writer.error is None
                break
            writer.kill(torn=torn)
            assert isinstance(writer.error, Killed)
            before = parts_in(path) if (path / MANIFEST).exists() else []
            # The one that was being written may be listed already.
            assert len(before) - writer.written in (0, 1)
            after = opened(path)
            assert after.manifest["frames"] == 10 * len(before)
            write(after)
            assert parts_in(path) == [*before, f"part-{len(before):06d}"]
            assert sorted(one.name for one in path.glob("part-*")) == parts_in(path)
    assert writer.written == WRITES
    assert steps > 30
