"""The checkpoint that an actor resumes from when it starts, and when Ray restarts it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from collectorfleet import InvalidOption
from collectorfleet.learners import origin as origin_module
from collectorfleet.learners.dropped import add_dropped
from collectorfleet.learners.origin import Origin
from collectorfleet.learners.record import (
    RECORD,
    Kept,
    Record,
    policy_file,
    remove_unnamed,
    replay_file,
    write_record,
)
from collectorfleet.learners.roster import Place


def save(folder: Path, number: int, *policies: str) -> None:
    """Write checkpoint ``number`` of one shard. Each state is the number of its checkpoint."""
    folder.mkdir(exist_ok=True)
    kept = {policy_id: Kept(Place(0, slot), policy_file(policy_id, number)) for slot, policy_id in enumerate(policies)}
    record = Record(number, (4,), kept, (replay_file(0, number),))
    for name in record.files:
        torch.save({"state": number, "steps": 10 * number}, folder / name)
    write_record(folder, record)


def state_of(origin: Origin) -> Any:
    saved = origin.load()
    return None if saved is None else saved.state


def test_a_restarted_actor_has_the_newest_checkpoint_that_is_complete(tmp_path: Path) -> None:
    origin = Origin("a", tmp_path)
    assert origin.load() is None
    save(tmp_path, 1, "a")
    # Checkpoint 2 failed before its index was written.
    torch.save({"state": 2, "steps": 20}, tmp_path / policy_file("a", 2))
    assert state_of(origin) == 1
    assert state_of(Origin(0, tmp_path)) == 1
    save(tmp_path, 3, "a")
    saved = origin.load()
    assert saved is not None
    assert (saved.state, saved.steps, saved.file.name) == (3, 30, "policy-a-3.pt")


def test_before_its_first_checkpoint_an_actor_resumes_from_the_earlier_shards(tmp_path: Path) -> None:
    save(tmp_path / "before", 7, "a")
    origin = Origin("a", tmp_path / "own", earlier=tmp_path / "before" / policy_file("a", 7))
    assert state_of(origin) == 7
    save(tmp_path / "own", 1, "a")
    assert state_of(origin) == 1


def test_a_policy_that_was_added_again_does_not_resume_from_the_checkpoint_of_the_removed_one(tmp_path: Path) -> None:
    save(tmp_path, 1, "a")
    added_again = Origin("a", tmp_path, since=2)
    assert added_again.load() is None
    save(tmp_path, 2, "a")
    assert state_of(added_again) == 2


def test_an_actor_whose_checkpoint_is_missing_does_not_begin_afresh(tmp_path: Path) -> None:
    save(tmp_path / "own", 1, "a")
    for origin, missing in (
        (Origin("a", tmp_path / "own"), tmp_path / "own" / policy_file("a", 1)),
        (Origin(0, tmp_path / "other", earlier=tmp_path / "replay-0.pt"), tmp_path / "replay-0.pt"),
    ):
        missing.unlink(missing_ok=True)
        with pytest.raises(FileNotFoundError, match=rf"the checkpoint to resume from is missing; .*'{missing}'"):
            origin.load()


def test_an_index_that_cannot_be_read_is_an_error_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text("{")
    with pytest.raises(InvalidOption, match=f"^checkpoint_dir: {tmp_path} has no checkpoint of learner shards: "):
        Origin("a", tmp_path).load()


@pytest.mark.parametrize(
    "loads", ["the file is removed first", "the file is removed meanwhile", "the file is loaded first"]
)
def test_a_checkpoint_that_is_written_while_an_actor_loads_is_the_one_that_it_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: str
) -> None:
    save(tmp_path, 1, "a")
    load: Callable[..., Any] = torch.load
    done = list[Path]()

    def loading(file: Path, **options: Any) -> Any:
        write_next = partial(_save_and_tidy, tmp_path, 2) if not done else lambda: None
        done.append(file)
        if loads == "the file is removed first":
            write_next()
            return load(file, **options)
        found = load(file, **options)
        write_next()
        if loads == "the file is removed meanwhile" and len(done) == 1:
            # As torch raises if a network file system has removed an open file.
            raise RuntimeError("PytorchStreamReader failed reading file data/0: file read failed")
        return found

    monkeypatch.setattr(origin_module.torch, "load", loading)
    assert state_of(Origin("a", tmp_path)) == 2
    assert [file.name for file in done] == [policy_file("a", 1), policy_file("a", 2)]


def test_an_actor_that_loads_a_second_checkpoint_has_one_state_at_a_time_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 1, "a")
    states = list[weakref.ref[State]]()

    def loading(_: Path, **_options: Any) -> Any:
        assert all(state() is None for state in states)
        state = State()
        states.append(weakref.ref(state))
        if len(states) == 1:
            _save_and_tidy(tmp_path, 2)
        return {"state": state, "steps": 0}

    monkeypatch.setattr(origin_module.torch, "load", loading)
    assert state_of(Origin("a", tmp_path)) is states[1]()


class State:
    """A state that can have weak references."""


def _save_and_tidy(folder: Path, number: int) -> None:
    save(folder, number, "a")
    remove_unnamed(folder)


def dropped_by(origin: Origin) -> list[str]:
    saved = origin.load()
    assert saved is not None
    return list(saved.dropped)


def test_frames_of_a_removed_policy_are_dropped_until_the_next_checkpoint(tmp_path: Path) -> None:
    replay = Origin(0, tmp_path)
    save(tmp_path, 1, "a", "b", "c")
    assert dropped_by(replay) == []
    for policy_id in ("a", "b", "a"):
        add_dropped(tmp_path, [(policy_id, 0)])
    add_dropped(tmp_path, [("of another shard", 1)])
    assert dropped_by(replay) == ["a", "b"]
    assert dropped_by(Origin("c", tmp_path)) == []
    # The next checkpoint has frames of a new policy with the id of a removed one.
    save(tmp_path, 2, "a", "c")
    assert dropped_by(replay) == []
    add_dropped(tmp_path, [("c", 0)])
    assert dropped_by(replay) == ["c"]


def test_frames_of_the_earlier_shards_are_dropped_until_the_first_checkpoint(tmp_path: Path) -> None:
    save(tmp_path / "before", 7, "a", "b")
    (tmp_path / "own").mkdir()
    earlier = tmp_path / "before" / replay_file(0, 7)
    replay = Origin(0, tmp_path / "own", earlier=earlier)
    add_dropped(tmp_path / "own", [("a", 0)])
    assert dropped_by(replay) == ["a"]
    # Another driver resumes the checkpoint, and ignores the list of this driver.
    assert dropped_by(Origin(0, tmp_path / "next", earlier=earlier)) == []
    save(tmp_path / "own", 1, "b")
    assert dropped_by(replay) == []
