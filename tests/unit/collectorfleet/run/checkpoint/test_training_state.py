"""What a training function keeps over restarts."""

from __future__ import annotations

import logging
from collections import deque
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer

from collectorfleet.errors import UserCodeError
from collectorfleet.run.checkpoint.training_state import TrainingState


def restarted(state: TrainingState, folder: Path) -> TrainingState:
    """What the next driver reads of a checkpoint."""
    file = folder / "state.pt"
    file.write_bytes(state.dumps())
    return TrainingState(file)


def step(module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    module(torch.ones(4)).sum().backward()
    optimizer.step()


def module_and_adam() -> tuple[nn.Module, torch.optim.Optimizer]:
    module = nn.Linear(4, 2)
    return module, torch.optim.Adam(module.parameters(), lr=0.1)


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return bool(torch.equal(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def test_modules_optimizers_and_plain_holders_come_back_as_they_were(tmp_path: Path) -> None:
    module, adam = module_and_adam()
    progress, rewards = {"epoch": 3, "best": 1.5}, deque([1.0, 2.0], maxlen=2)
    state = TrainingState()
    assert not state.keep({"module": module, "adam": adam, "progress": progress, "rewards": rewards})
    step(module, adam)
    saved = restarted(state, tmp_path)
    # The snapshot is of then: training that goes on does not reach it.
    expected = {"module": {k: v.clone() for k, v in module.state_dict().items()}, "moment": moment(adam).clone()}
    step(module, adam)
    progress["epoch"] = 4

    module, adam = module_and_adam()
    progress, rewards = {"new": 1}, deque(maxlen=2)
    assert saved.keep({"module": module, "adam": adam, "progress": progress, "rewards": rewards})
    assert equal(dict(module.state_dict()), expected["module"])
    assert equal(moment(adam), expected["moment"])
    assert progress == {"epoch": 3, "best": 1.5}
    assert rewards == deque([1.0, 2.0], maxlen=2)


def moment(adam: torch.optim.Optimizer) -> torch.Tensor:
    found: torch.Tensor = adam.state_dict()["state"][0]["exp_avg"]
    return found


def test_a_replay_buffer_comes_back_with_its_frames(tmp_path: Path) -> None:
    def buffer() -> ReplayBuffer:
        return ReplayBuffer(storage=LazyTensorStorage(100), batch_size=4)

    full = buffer()
    full.extend(TensorDict({"x": torch.arange(30)}, [30]))
    state = TrainingState()
    state.keep({"buffer": full})
    again = buffer()
    assert restarted(state, tmp_path).keep({"buffer": again})
    assert len(again) == 30
    assert torch.equal(again[:]["x"], torch.arange(30))


def test_keeping_the_same_object_again_says_the_same(tmp_path: Path) -> None:
    holder = {"epoch": 1}
    state = TrainingState()
    assert not state.keep({"holder": holder})
    assert not state.keep({"holder": holder})
    saved = restarted(state, tmp_path)
    assert saved.keep({"holder": holder})
    assert saved.keep({"holder": holder})


def test_a_name_that_is_new_since_the_checkpoint_is_kept_by_itself(tmp_path: Path) -> None:
    state = TrainingState()
    state.keep({"old": {}})
    saved = restarted(state, tmp_path)
    with pytest.raises(
        ValueError, match=r"checkpoint .*state.pt contains old, but not new; pass the objects that it does not contain"
    ):
        saved.keep({"old": {}, "new": {}})
    old, new = {"epoch": 0}, {"epoch": 0}
    assert saved.keep({"old": old})
    assert not saved.keep({"new": new})
    assert not saved.keep({"old": old, "new": new})


def test_what_nobody_keeps_any_more_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = TrainingState()
    state.keep({"ema": {}, "other": {}})
    saved = restarted(state, tmp_path)
    with caplog.at_level(logging.WARNING):
        saved.keep({"other": {}})
        saved.dumps()
        saved.dumps()
    assert [record.message for record in caplog.records] == [
        f"checkpoint {tmp_path}/state.pt has the state of ema, but this run did not pass these names to run.keep"
    ]


def test_a_state_that_cannot_be_unpickled_is_named(tmp_path: Path) -> None:
    file = tmp_path / "state.pt"
    file.write_bytes(b"of another program")
    with pytest.raises(UserCodeError, match=f"^checkpoint {file}: "):
        TrainingState(file)


class Saved:
    """An object whose state can be read, and not be put back."""

    def state_dict(self) -> dict[str, int]:
        return {}


@pytest.mark.parametrize("value", [3, 1.5, "text", None, (1, 2), Saved()], ids=lambda value: type(value).__name__)
def test_what_cannot_be_put_back_in_place_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=r"run\.keep: best is an? .*, which cannot be restored in place; pass a dict"):
        TrainingState().keep({"best": value})


def test_two_objects_of_one_name_are_refused() -> None:
    state = TrainingState()
    state.keep({"optimizer": {}})
    with pytest.raises(ValueError, match="optimizer already names another object"):
        state.keep({"optimizer": {}})


def test_a_state_that_does_not_fit_says_what_to_do(tmp_path: Path) -> None:
    state = TrainingState()
    state.keep({"policy": nn.Linear(4, 2)})
    with pytest.raises(
        UserCodeError, match="cannot be loaded into policy; start over in another folder: RuntimeError: Error"
    ):
        restarted(state, tmp_path).keep({"policy": nn.Linear(4, 3)})


def test_an_object_that_cannot_be_written_is_named() -> None:
    state = TrainingState()
    state.keep({"fine": {}, "holder": {"callback": lambda: None}})
    with pytest.raises(UserCodeError, match=r"run\.keep: holder cannot be written: "):
        state.dumps()
