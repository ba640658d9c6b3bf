"""What shards go on from: who was where, and whose frames are still there."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from collectorfleet import InvalidOption
from collectorfleet.learners.record import (
    RECORD,
    Earlier,
    Kept,
    Record,
    is_whole,
    parse_record,
    read_own_record,
    read_record,
    remove_unnamed,
    write_record,
)
from collectorfleet.learners.roster import Place

RED, BLUE = Kept(Place(0, 0), "policy-red-3.pt"), Kept(Place(1, 0), "policy-blue-3.pt")
RECORD_3 = Record(3, (2, 1), {"red": RED, "blue": BLUE}, ("replay-0-3.pt", "replay-1-3.pt"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert not is_whole(tmp_path)
    write_record(tmp_path, RECORD_3)
    assert is_whole(tmp_path)
    return tmp_path


def test_a_policy_finds_its_place_its_file_and_its_frames(folder: Path) -> None:
    earlier = Earlier(folder, (2, 1))
    assert earlier.policies == {"red", "blue"}
    assert earlier.place("blue") == Place(1, 0)
    assert earlier.policy_file("blue") == folder / "policy-blue-3.pt"
    assert earlier.dropped == ""
    assert earlier.replay_file(1) == folder / "replay-1-3.pt"
    earlier.settled("blue", Place(1, 0))
    assert earlier.left() == {"red": 0}


def test_what_is_left_over_stays_so_until_it_is_dropped(folder: Path) -> None:
    earlier = Earlier(folder, (2, 1))
    assert earlier.left() == earlier.left() == {"red": 0, "blue": 1}
    earlier.drop_left()
    assert earlier.left() == {}
    assert earlier.policies == frozenset()


def test_frames_of_a_policy_that_had_to_go_elsewhere_are_left_over(folder: Path) -> None:
    earlier = Earlier(folder, (2, 1))
    earlier.settled("blue", Place(0, 1))
    assert earlier.left() == {"red": 0, "blue": 1}


def test_with_other_shards_policies_go_on_and_frames_do_not(folder: Path) -> None:
    earlier = Earlier(folder, (1, 1, 1))
    assert earlier.place("red") is None
    assert earlier.policy_file("red") == folder / "policy-red-3.pt"
    assert earlier.replay_file(0) is None
    assert earlier.left() == {}
    assert earlier.dropped == "2+1"


def test_one_that_was_removed_begins_anew_under_its_id(folder: Path) -> None:
    earlier = Earlier(folder, (2, 1))
    earlier.forget("red")
    assert (earlier.place("red"), earlier.policy_file("red")) == (None, None)


def test_nothing_to_go_on_from_is_no_error_and_a_folder_without_a_checkpoint_is_one(tmp_path: Path) -> None:
    earlier = Earlier(None, (1,))
    assert (earlier.place("red"), earlier.policy_file("red"), earlier.replay_file(0)) == (None, None, None)
    assert earlier.dropped == ""
    with pytest.raises(InvalidOption, match=r"^resume_from: .* has no checkpoint of learner shards"):
        Earlier(tmp_path, (1,))


FULL: dict[str, Any] = {"number": 1, "slots": [2], "policies": {}, "replays": ["replay-0-1.pt"]}
ROW: dict[str, Any] = {"shard": 0, "slot": 0, "file": "policy-red-1.pt"}


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"slots": [2], "policies": []}, "'list' object has no attribute 'items'"),
        ({"slots": ["2"], "policies": {}}, "'2' is not a whole number of at least 0"),
        ({"slots": [2], "policies": {"red": ROW | {"file": "../policy-red-1.pt"}}}, "'../policy-red-1.pt' is not the"),
        (
            {"slots": [2], "policies": {"red": ROW | {"file": "policy-../../red-1.pt"}}},
            "is not the name of a policy file",
        ),
        ({"slots": [2], "policies": {"red": ROW | {"file": "/etc/passwd"}}}, "'/etc/passwd' is not the name"),
        ({"slots": [2], "policies": {"red": ROW | {"file": 5}}}, "5 is not the name of a policy file"),
        ({"slots": [2], "policies": {"red": ROW | {"slot": -1}}}, "-1 is not a whole number of at least 0"),
        ({"slots": [2], "policies": {"red": ROW | {"slot": 2}}}, "shard 0 has no place 2"),
        ({"slots": [2], "policies": {"red": ROW | {"shard": 1}}}, "shard 1 has no place 0"),
        (FULL | {"replays": []}, "0 replay files are named for 1 shards"),
        (FULL | {"replays": ["../replay-0-1.pt"]}, "'../replay-0-1.pt' is not the name of a replay file"),
        (FULL | {"number": -1}, "-1 is not a whole number of at least 0"),
    ],
)
def test_an_index_with_wrong_entries_is_refused_in_a_sentence(
    tmp_path: Path, index: dict[str, object], said: str
) -> None:
    (tmp_path / RECORD).write_text(json.dumps(index))
    with pytest.raises(InvalidOption) as refused:
        Earlier(tmp_path, (2,))
    assert f"resume_from: {tmp_path} has no checkpoint of learner shards: " in str(refused.value)
    assert said in str(refused.value)


def test_the_index_is_read_as_it_was_written(folder: Path) -> None:
    assert read_record(folder) == RECORD_3


def test_an_index_of_release_0_1_names_no_replay_files_and_they_are_found(tmp_path: Path) -> None:
    found = parse_record(json.dumps({"slots": [2, 1], "policies": {"red": ROW}}))
    assert found.files == {"policy-red-1.pt", "replay-0.pt", "replay-1.pt"}
    assert found.number == 0


def test_the_index_of_these_shards_is_absent_before_their_first_checkpoint(tmp_path: Path) -> None:
    assert read_own_record(tmp_path) == Record()
    assert read_own_record(tmp_path / "not made yet") == Record()


def test_an_index_that_a_failing_volume_cannot_read_is_an_error_of_the_volume_and_no_file_is_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "policy-red-2.pt").touch()
    names = set(folder.iterdir())
    failing = OSError(errno.EIO, "Input/output error", str(folder / RECORD))
    monkeypatch.setattr(Path, "read_text", Mock(side_effect=failing))
    for read in (read_own_record, remove_unnamed):
        with pytest.raises(OSError, match="Input/output error") as caught:
            read(folder)
        assert caught.value.errno == errno.EIO
    assert set(folder.iterdir()) == names


@pytest.mark.parametrize("has_record", [True, False])
def test_files_of_other_checkpoints_and_unfinished_files_are_removed(tmp_path: Path, has_record: bool) -> None:
    kept = {"policy-red-3.pt", "policy-blue-3.pt", "replay-0-3.pt", "replay-1-3.pt", "replay-0.pt", "replay-1.pt"}
    others = {"notes.txt", "dropped.json", ".unfinished-shards.json"}
    unneeded = {"policy-red-2.pt", "policy-gone-2.pt", "replay-1-4.pt", "replay-2.pt", ".unfinished-policy-red-4.pt"}
    for name in kept | others | unneeded:
        (tmp_path / name).touch()
    if has_record:
        write_record(tmp_path, RECORD_3)
    remove_unnamed(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    # Writing the index finished its file.
    assert left == (kept | others - {".unfinished-shards.json"} | {RECORD} if has_record else others)
