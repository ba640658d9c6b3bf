"""Whose a folder of checkpoints is: nobody's training is mixed into another's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectorfleet.errors import InvalidOption
from collectorfleet.run.checkpoint.owner import FILE, Owner, owner_of, to_json
from collectorfleet.run.folders import holds_anything


def register_driver(folder: Path, fleet: str, run: str) -> Owner:
    owner = owner_of(folder, fleet, run)
    (folder / FILE).write_text(json.dumps(to_json(fleet, owner.run, owner.starts + 1)))
    return owner


def test_an_empty_folder_is_whose_driver_comes_first_and_the_run_keeps_its_name(tmp_path: Path) -> None:
    assert register_driver(tmp_path, "cheetah", "run-1") == Owner("run-1", starts=0)
    assert register_driver(tmp_path, "cheetah", "run-2") == Owner("run-1", starts=1)
    assert register_driver(tmp_path, "cheetah", "run-3") == Owner("run-1", starts=2)


def test_the_folder_of_another_fleet_is_refused(tmp_path: Path) -> None:
    register_driver(tmp_path, "cheetah", "run-1")
    with pytest.raises(
        InvalidOption, match="the checkpoints are of fleet cheetah, but this is fleet ant; name another folder"
    ):
        register_driver(tmp_path, "ant", "run-1")
    with pytest.raises(InvalidOption, match="but this is fleet walker; name another folder"):
        register_driver(tmp_path, "walker", "run-1")
    assert register_driver(tmp_path, "cheetah", "run-1").starts == 1


def test_a_folder_of_other_things_is_refused_and_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InvalidOption, match="the folder is not empty and has no checkpoints of a fleet"):
        register_driver(tmp_path, "cheetah", "run-1")
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_a_killed_driver_was_about_to_write_is_nothing(tmp_path: Path) -> None:
    assert not holds_anything(tmp_path / "not there")
    (tmp_path / ".unfinished-fleet.json").write_text('{"fle')
    assert not holds_anything(tmp_path)
    assert register_driver(tmp_path, "cheetah", "run-1").starts == 0


@pytest.mark.parametrize(
    "content",
    [
        *("", '{"fle', "[]", "null", "5", "[" * 100_000, '{"name": "theirs"}'),
        '{"fleet": "cheetah", "run": null, "starts": 1}',
        '{"fleet": "cheetah", "run": "run-1", "starts": null}',
        '{"fleet": "cheetah", "run": "run-1", "starts": 1e999}',
    ],
    ids=["empty", "half", "list", "null", "number", "deep", "foreign", "no run", "no starts", "infinite starts"],
)
def test_a_file_that_no_run_wrote_is_refused_in_a_sentence_and_kept(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InvalidOption, match=f"^checkpoints in {tmp_path}: {FILE} was not written by a run; restore"):
        owner_of(tmp_path, "cheetah", "run-2")
    assert (tmp_path / FILE).read_text() == content
