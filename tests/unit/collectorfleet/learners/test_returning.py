"""What an actor is kept in, and what it goes on from, without Ray."""

from __future__ import annotations

import resource
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from collectorfleet.learners.origin import Origin
from collectorfleet.learners.returning import keep, returning, steps_of

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


def large(size_bytes: int, earlier: Path | None = None) -> Any:
    return returning(Large)(Origin("a", earlier=earlier), 0.0, {"size_bytes": size_bytes})


@pytest.fixture
def no_large_files() -> Iterator[None]:
    """A file of more than 1 MiB cannot be written, as on a volume that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MIB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    before = large(8)
    before.learn()
    keep(before, tmp_path / "one.pt")
    after = large(8, tmp_path / "one.pt")
    assert after.state.tolist() == list(range(1, 9))
    assert (steps_of(large(8)), steps_of(after)) == (0, 1)


def test_keeping_an_actor_needs_no_second_copy_of_it(tmp_path: Path) -> None:
    actor = large(64 * _MIB)
    tracemalloc.start()
    keep(actor, tmp_path / "one.pt")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "one.pt").stat().st_size > 64 * _MIB
    assert peak < 8 * _MIB


@pytest.mark.usefixtures("no_large_files")
def test_a_full_volume_is_said_and_what_was_half_written_leaves_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=f"File too large: '{tmp_path}/one.pt'"):
        keep(large(8 * _MIB), tmp_path / "one.pt")
    assert list(tmp_path.iterdir()) == []
