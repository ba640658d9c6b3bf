"""What an actor is kept in, and what it goes on from, without Ray."""

from __future__ import annotations

import errno
import resource
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from tests.runtime.learners import frames

from collectorfleet.learners import returning as returning_module
from collectorfleet.learners.replay import PolicyReplay
from collectorfleet.learners.returning import keep, note_dropped, returning, steps_of

_MIB = 2**20


class Large:
    """Its state is as many bytes as it is told to be."""

    def __init__(self, size_bytes: int) -> None:
        self.state = torch.arange(size_bytes, dtype=torch.uint8)

    def learn(self) -> None:
        self.state += 1

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"state": self.state}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        self.state = state["state"]


def large(file: Path, size_bytes: int) -> Any:
    return returning(Large)([file], 0.0, {"size_bytes": size_bytes})


@pytest.fixture
def no_large_files() -> Iterator[None]:
    """A file of more than 1 MiB cannot be written, as on a volume that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MIB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    before = large(tmp_path / "one.pt", 8)
    before.learn()
    keep(before, tmp_path / "one.pt")
    assert large(tmp_path / "one.pt", 8).state.tolist() == list(range(1, 9))


def test_an_actor_whose_checkpoint_is_missing_does_not_begin_afresh(tmp_path: Path) -> None:
    arguments = [tmp_path / "own.pt", tmp_path / "earlier.pt"], 0.0, {"size_bytes": 8}, True
    with pytest.raises(
        FileNotFoundError, match=rf"the checkpoint to resume from is missing; .*'{tmp_path}/earlier.pt'"
    ):
        returning(Large)(*arguments)
    before = large(tmp_path / "own.pt", 8)
    before.learn()
    keep(before, tmp_path / "own.pt")
    assert returning(Large)(*arguments).state.tolist() == list(range(1, 9))


def test_keeping_an_actor_needs_no_second_copy_of_it(tmp_path: Path) -> None:
    actor = large(tmp_path / "one.pt", 64 * _MIB)
    tracemalloc.start()
    keep(actor, tmp_path / "one.pt")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "one.pt").stat().st_size > 64 * _MIB
    assert peak < 8 * _MIB


@pytest.mark.usefixtures("no_large_files")
def test_a_full_volume_is_said_and_what_was_half_written_leaves_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=f"File too large: '{tmp_path}/one.pt'"):
        keep(large(tmp_path / "one.pt", 8 * _MIB), tmp_path / "one.pt")
    assert list(tmp_path.iterdir()) == []


def replay(file: Path) -> Any:
    return returning(PolicyReplay)([file], 0.0, {})


def removed(file: Path) -> Any:
    """A replay actor whose policy ``a`` was removed after a checkpoint, and added again with 2 frames."""
    actor = replay(file)
    actor.extend("a", frames(1.0, 8))
    keep(actor, file)
    note_dropped(actor, file, "a")
    actor.forget("a")
    actor.extend("a", frames(2.0, 2))
    return actor


def test_an_actor_that_is_lost_before_its_next_checkpoint_has_no_frames_of_the_removed_policy(tmp_path: Path) -> None:
    removed(tmp_path / "replay-0.pt")
    assert replay(tmp_path / "replay-0.pt").size("a") == 0


@pytest.mark.parametrize("is_restarted", [False, True], ids=["runs", "is restarted"])
def test_the_frames_of_a_policy_that_was_added_again_stay_if_the_list_of_removed_policies_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_restarted: bool
) -> None:
    """The actor is killed after its checkpoint and before the removal of the list, or the removal fails."""
    file = tmp_path / "replay-0.pt"
    actor = removed(file)
    if is_restarted:
        actor = replay(file)
        actor.extend("a", frames(2.0, 2))
    monkeypatch.setattr(Path, "unlink", Mock(side_effect=OSError(errno.EIO, "Input/output error")))
    keep(actor, file)
    assert (tmp_path / "replay-0.dropped.json").exists()
    assert replay(file).size("a") == 2


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "a later one"])
def test_a_checkpoint_after_one_that_failed_keeps_the_frames_of_a_policy_that_was_added_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    file = tmp_path / "replay-0.pt"
    actor = replay(file)
    actor.extend("a", frames(1.0, 8))
    if not is_first:
        keep(actor, file)
    with monkeypatch.context() as failing:
        failing.setattr(returning_module, "write", Mock(side_effect=OSError(errno.EIO, "Input/output error")))
        with pytest.raises(OSError, match="Input/output error"):
            keep(actor, file)
    note_dropped(actor, file, "a")
    actor = replay(file)
    actor.extend("a", frames(2.0, 2))
    monkeypatch.setattr(returning_module, "end_dropped", lambda _: None)
    keep(actor, file)
    assert replay(file).size("a") == 2


def test_a_checkpoint_of_the_previous_release_is_read_and_its_removed_policies_are_dropped(tmp_path: Path) -> None:
    actor = replay(tmp_path / "own.pt")
    for policy_id in ("stays", "leaves"):
        actor.extend(policy_id, frames(1.0, 8))
    torch.save({"state": actor.state_dict(), "steps": 3}, tmp_path / "earlier.pt")
    files = [tmp_path / "replay-0.pt", tmp_path / "earlier.pt"]
    actor = returning(PolicyReplay)(files, 0.0, {})
    assert (actor.size("stays"), actor.size("leaves"), steps_of(actor)) == (8, 8, 3)
    note_dropped(actor, files[0], "leaves")
    actor = returning(PolicyReplay)(files, 0.0, {})
    assert (actor.size("stays"), actor.size("leaves")) == (8, 0)
    # Another driver resumes the checkpoint, and ignores the list of this driver.
    assert replay(tmp_path / "earlier.pt").size("leaves") == 8
