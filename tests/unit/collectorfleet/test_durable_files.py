"""A file is the old one or the new one, and a try that failed takes no room."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from collectorfleet.durable_files import write


def half(out: BinaryIO) -> None:
    out.write(b"half")
    raise ValueError("no more")


def test_what_is_written_is_there_under_its_own_name_alone(tmp_path: Path) -> None:
    write(tmp_path / "file", lambda out: out.write(b"new"))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"new")]


def test_a_try_that_fails_leaves_the_old_file_and_nothing_that_takes_room(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(ValueError, match="no more"):
        write(tmp_path / "file", half)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]
