"""Each driver keeps its learners in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from collectorfleet.learners.record import write_record
from collectorfleet.run.learners.folders import LearnerFolders


def folder(path: Path, starts: int, *, whole: bool) -> Path:
    own = LearnerFolders(path, starts).own
    own.mkdir()
    (own / "replay-0.pt").touch()
    if whole:
        write_record(own, (1,), {})
    return own


def test_a_driver_goes_on_from_the_newest_that_is_whole_and_removes_all_before_its_own(tmp_path: Path) -> None:
    folder(tmp_path, 0, whole=True)
    whole = folder(tmp_path, 1, whole=True)
    folder(tmp_path, 2, whole=False)
    own = folder(tmp_path, 3, whole=True)
    folders = LearnerFolders(tmp_path, 3)
    assert folders.newest() == whole
    folders.tidy()
    assert list(tmp_path.iterdir()) == [own]
    assert folders.newest() is None
