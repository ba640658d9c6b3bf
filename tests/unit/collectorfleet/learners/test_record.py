"""What shards go on from: who was where, and whose frames are still there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectorfleet import InvalidOption
from collectorfleet.learners.record import RECORD, Earlier, Kept, is_whole, write_record
from collectorfleet.learners.roster import Place

RED, BLUE = Kept(Place(0, 0), "policy-red-1.pt"), Kept(Place(1, 0), "policy-blue-2.pt")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert not is_whole(tmp_path)
    write_record(tmp_path, (2, 1), {"red": RED, "blue": BLUE})
    assert is_whole(tmp_path)
    return tmp_path


def test_a_policy_finds_its_place_its_file_and_its_frames(folder: Path) -> None:
    earlier = Earlier(folder, (2, 1))
    assert earlier.policies == {"red", "blue"}
    assert earlier.place("blue") == Place(1, 0)
    assert earlier.policy_files("blue") == [folder / "policy-blue-2.pt"]
    assert earlier.replay_files(1) == [folder / "replay-1.pt"]
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
    assert earlier.policy_files("red") == [folder / "policy-red-1.pt"]
    assert earlier.replay_files(0) == []
    assert earlier.left() == {}


def test_one_that_was_removed_begins_anew_under_its_id(folder: Path) -> None:
    earlier = Earlier(folder, (2, 1))
    earlier.forget("red")
    assert (earlier.place("red"), earlier.policy_files("red")) == (None, [])


def test_nothing_to_go_on_from_is_no_error_and_a_folder_without_a_checkpoint_is_one(tmp_path: Path) -> None:
    earlier = Earlier(None, (1,))
    assert (earlier.place("red"), earlier.policy_files("red"), earlier.replay_files(0)) == (None, [], [])
    with pytest.raises(InvalidOption, match=r"^resume_from: .* has no checkpoint of learner shards"):
        Earlier(tmp_path, (1,))


ROW: dict[str, Any] = {"shard": 0, "slot": 0, "file": "policy-red-1.pt"}


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"slots": [2], "policies": []}, "'list' object has no attribute 'items'"),
        ({"slots": ["2"], "policies": {}}, "'2' is not a whole number of at least 0"),
        ({"slots": [2], "policies": {"red": ROW | {"file": "../policy-red-1.pt"}}}, "'../policy-red-1.pt' is not the"),
        ({"slots": [2], "policies": {"red": ROW | {"file": "policy-../../red-1.pt"}}}, "is not the name of a policy's"),
        ({"slots": [2], "policies": {"red": ROW | {"file": "/etc/passwd"}}}, "'/etc/passwd' is not the name"),
        ({"slots": [2], "policies": {"red": ROW | {"file": 5}}}, "5 is not the name of a policy's file"),
        ({"slots": [2], "policies": {"red": ROW | {"slot": -1}}}, "-1 is not a whole number of at least 0"),
        ({"slots": [2], "policies": {"red": ROW | {"slot": 2}}}, "shard 0 has no place 2"),
        ({"slots": [2], "policies": {"red": ROW | {"shard": 1}}}, "shard 1 has no place 0"),
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
