"""A file of weights is whole, or not there."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import torch

from collectorfleet.run.checkpoint.kept_weights import KeptWeights
from collectorfleet.run.weights_file import write_weights


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_weights_that_find_no_room_leave_the_old_file_and_nothing_that_takes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    def full(_: Path, __: Path) -> None:
        raise OSError(errno.ENOSPC, "no room")

    file = tmp_path / f"weights{suffix}"
    file.write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no room"):
        write_weights(file, KeptWeights({"weight": torch.zeros(3)}, {}))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(file.name, "old")]


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_weights_go_through_a_link(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / f"weights{suffix}"
    link.symlink_to(f"there/file{suffix}")
    write_weights(link, KeptWeights({"weight": torch.zeros(3)}, {}))
    assert link.is_symlink()
    assert [one.name for one in (tmp_path / "there").iterdir()] == [f"file{suffix}"]
