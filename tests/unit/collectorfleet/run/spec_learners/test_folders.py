"""Each driver keeps its learners in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path

from collectorfleet.learners.record import Earlier, Record, write_record
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.run.spec_learners.folders import LearnerFolders


def folders_in(path: Path) -> LearnerFolders:
    """As the next driver has them."""
    taken = FencedFolder(path)
    taken.take()
    return LearnerFolders(taken)


def folder(path: Path, *, whole: bool) -> Path:
    """That of one more driver."""
    own = folders_in(path).make_own()
    (own / "replay-0-1.pt").touch()
    if whole:
        write_record(own, Record(1, (1,), {}, ("replay-0-1.pt",)))
    return own


def test_a_driver_goes_on_from_the_newest_that_is_whole_and_removes_all_before_its_own(tmp_path: Path) -> None:
    folder(tmp_path, whole=True)
    whole = folder(tmp_path, whole=True)
    folder(tmp_path, whole=False)
    folders = folders_in(tmp_path)
    own = folders.make_own()
    assert folders.newest() == whole
    folders.tidy(keep=whole)
    assert set(tmp_path.glob("learners-*")) == {whole, own}
    assert folders.newest() == whole
    folders.tidy()
    assert list(tmp_path.glob("learners-*")) == [own]
    assert folders.newest() is None


def test_a_folder_with_only_a_list_of_removed_policies_is_not_resumed_and_is_removed(tmp_path: Path) -> None:
    own = folders_in(tmp_path).make_own()
    (own / "dropped.json").write_text('{"checkpoint": 0, "policies": {"0": ["a"]}}')
    folders = folders_in(tmp_path)
    assert folders.newest() is None
    folders.tidy()
    assert not own.exists()


def test_a_copy_has_the_names_that_release_0_1_reads_after_a_rollback(tmp_path: Path) -> None:
    own = folder(tmp_path, whole=True)
    (own / "replay-0.pt").hardlink_to(own / "replay-0-1.pt")
    copy = folders_in(tmp_path).take_newest()
    assert copy is not None
    assert {path.name for path in copy.iterdir()} == {"shards.json", "replay-0-1.pt", "replay-0.pt"}


def test_a_copy_of_a_folder_of_release_0_1_is_complete_and_can_be_resumed(tmp_path: Path) -> None:
    own = folders_in(tmp_path).make_own()
    row = {"shard": 0, "slot": 0, "file": "policy-a-1.pt"}
    (own / "shards.json").write_text(json.dumps({"slots": [1, 1], "policies": {"a": row}}))
    for name in ("policy-a-1.pt", "replay-0.pt", "replay-1.pt"):
        (own / name).write_text(name)
    copy = folders_in(tmp_path).take_newest()
    assert copy is not None
    earlier = Earlier(copy, (1, 1))
    files = [earlier.policy_file("a"), earlier.replay_file(0), earlier.replay_file(1)]
    assert [file.read_text() for file in files if file] == ["policy-a-1.pt", "replay-0.pt", "replay-1.pt"]


def test_no_two_drivers_have_the_same_folder_although_nobody_counted_them(tmp_path: Path) -> None:
    # As where the volume is so full that the count of a run's drivers cannot be written.
    names = [folder(tmp_path, whole=False).name for _ in range(3)]
    assert names == ["learners-000000", "learners-000001", "learners-000002"]


def test_what_was_tidied_away_is_not_numbered_again(tmp_path: Path) -> None:
    for _ in range(11):
        folder(tmp_path, whole=True)
    folders = folders_in(tmp_path)
    own = folders.make_own()
    folders.tidy()
    assert own.name == "learners-000011"
    assert folders_in(tmp_path).make_own().name == "learners-000012"


def test_folders_of_somebody_else_are_kept_and_their_numbers_are_not_used(tmp_path: Path) -> None:
    folder(tmp_path, whole=True)
    for name in ("learners-000007", "learners-0old", "learners-000009"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.txt").write_text("of a person")
    (tmp_path / "learners-000010").symlink_to("learners-000000")
    (tmp_path / "learners-000011").write_text("a file")
    folders = folders_in(tmp_path)
    own = folders.make_own()
    folders.tidy()
    others = ["learners-000007", "learners-000009", "learners-000010", "learners-000011", "learners-0old"]
    assert sorted(one.name for one in tmp_path.glob("learners-*")) == sorted([*others, own.name])
    assert own.name == "learners-000012"
