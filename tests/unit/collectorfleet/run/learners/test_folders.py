"""Each driver keeps its learners in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from collectorfleet.learners.record import write_record
from collectorfleet.run.learners.folders import LearnerFolders


def folder(path: Path, *, whole: bool) -> Path:
    """That of one more driver."""
    own = LearnerFolders(path).own
    own.mkdir()
    (own / "replay-0.pt").touch()
    if whole:
        write_record(own, (1,), {})
    return own


def test_a_driver_goes_on_from_the_newest_that_is_whole_and_removes_all_before_its_own(tmp_path: Path) -> None:
    folder(tmp_path, whole=True)
    whole = folder(tmp_path, whole=True)
    folder(tmp_path, whole=False)
    folders = LearnerFolders(tmp_path)
    folders.own.mkdir()
    assert folders.newest() == whole
    folders.tidy(keep=whole)
    assert set(tmp_path.iterdir()) == {whole, folders.own}
    assert folders.newest() == whole
    folders.tidy()
    assert list(tmp_path.iterdir()) == [folders.own]
    assert folders.newest() is None


def test_no_two_drivers_have_the_same_folder_although_nobody_counted_them(tmp_path: Path) -> None:
    # As where the volume is so full that the count of a run's drivers cannot be written.
    names = [folder(tmp_path, whole=False).name for _ in range(3)]
    assert names == ["learners-000000", "learners-000001", "learners-000002"]


def test_what_was_tidied_away_is_not_numbered_again(tmp_path: Path) -> None:
    for _ in range(11):
        folder(tmp_path, whole=True)
    folders = LearnerFolders(tmp_path)
    folders.own.mkdir()
    folders.tidy()
    assert folders.own.name == "learners-000011"
    assert LearnerFolders(tmp_path).own.name == "learners-000012"
