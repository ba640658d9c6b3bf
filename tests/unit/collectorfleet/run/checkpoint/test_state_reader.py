"""A checkpoint's state is read without the classes of the user."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections import OrderedDict, UserDict, UserList, deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDict

from collectorfleet.run.checkpoint.state_reader import Unread, read_state

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Mine:
    """A class of the user's, with another one in it."""

    class Inner:
        def __init__(self) -> None:
            self.inside = 1

    def __init__(self) -> None:
        self.held = Mine.Inner()


class Touches:
    """What somebody puts into a file to run code where it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def written(folder: Path, state: object) -> Path:
    file = folder / "state.pt"
    torch.save(state, file)
    return file


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.uint16, torch.int64, torch.bool]
)
def test_tensors_of_every_kind_are_read(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = torch.arange(6).view(2, 3).to(dtype)
    parameter = torch.nn.Parameter(tensor, requires_grad=False)
    kept = {"whole": tensor, "part": tensor[:, 1:], "own": parameter}
    found = read_state(written(tmp_path, {"policy": OrderedDict(kept)}))["policy"]
    assert {one.dtype for one in found.values()} == {dtype}
    numbers = {name: one.float().tolist() for name, one in kept.items()}
    assert {name: one.float().tolist() for name, one in found.items()} == numbers


def test_plain_values_and_times_are_read(tmp_path: Path) -> None:
    state = {
        "best": {"version": 3, "returns": (1.0, 2.5), "time": NOON, "name": "\u00e9", "raw": b"\xff\x00", "none": None}
    }
    assert read_state(written(tmp_path, state)) == state


@pytest.mark.parametrize(
    "kept",
    [
        Mine(),
        deque([1, Mine()], maxlen=3),
        {Mine.Inner: Mine()},
        np.arange(3),
        np.random.default_rng(0),
        np.float64(1.0),
        UserDict({"a": 1}),
        UserList([1]),
        {1, 2},
        TensorDict({"a": torch.ones(2)}, [2]),
        pickle.Pickler,
        Path("x"),
    ],
    ids=lambda kept: type(kept).__name__,
)
def test_whatever_else_is_kept_does_not_hinder_it(tmp_path: Path, kept: object) -> None:
    found = read_state(written(tmp_path, {"mine": kept, "policy": {"weight": torch.ones(2)}}))
    assert torch.equal(found["policy"]["weight"], torch.ones(2))


def test_no_code_in_the_file_is_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    file = written(tmp_path, {"mine": Touches(made), "policy": {"weight": torch.ones(2)}})
    assert read_state(file)["mine"] is Unread
    assert not made.exists()


def test_the_code_of_the_user_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab_of_the_user.py").write_text("class Schedule:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    from lab_of_the_user import Schedule  # type: ignore[import-not-found]

    file = written(tmp_path, {"schedule": Schedule(), "policy": {"weight": torch.ones(2)}})
    monkeypatch.undo()
    del sys.modules["lab_of_the_user"]
    assert read_state(file)["policy"]["weight"].sum() == 2


@pytest.mark.parametrize("module", ["lab_of_the_user", "zoo_of_the_user"])
def test_a_class_of_the_user_may_have_the_name_of_a_dtype(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    (tmp_path / f"{module}.py").write_text("class float32:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    kept = importlib.import_module(module).float32
    file = written(tmp_path, {"mine": kept, "policy": {"weight": torch.ones(2)}})
    monkeypatch.undo()
    del sys.modules[module]
    assert read_state(file)["mine"] is Unread


def test_tensors_are_mapped_and_read_from_the_file_when_they_are_used(tmp_path: Path) -> None:
    file = written(tmp_path, {"policy": {"weight": torch.ones(2)}})
    found = read_state(file)
    assert str(file) in Path("/proc/self/maps").read_text()
    assert found["policy"]["weight"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("content", [b"", b"no zip", pickle.dumps({"policy": 1})], ids=["empty", "text", "a pickle"])
def test_another_file_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "state.pt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=str(file)):
        read_state(file)


def test_a_list_is_no_state(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the file is not the state of a checkpoint"):
        read_state(written(tmp_path, [1]))
