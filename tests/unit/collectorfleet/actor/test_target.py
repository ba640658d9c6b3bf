"""Weights that are loaded in place, with proof of what then is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from collectorfleet.actor.target import ModulesTarget, WeightsTarget
from collectorfleet.codec import snapshot as snapshots


def tensors(value: float) -> dict[str, torch.Tensor]:
    return {"weight": torch.full((3, 2), value), "count": torch.tensor(int(value)), "empty": torch.zeros(0)}


def test_what_was_loaded_has_the_digest_of_what_was_taken() -> None:
    taken = snapshots.take(tensors(2.5))
    mine = tensors(0.0)
    target = WeightsTarget(mine)
    assert target.load(taken) == snapshots.digest(taken.arrays)
    assert torch.equal(mine["weight"], tensors(2.5)["weight"])
    assert target.load(snapshots.take(tensors(3.5))) != snapshots.digest(taken.arrays)


def test_a_digest_is_of_what_is_there_and_not_of_what_came() -> None:
    class Deaf(torch.Tensor):
        """A tensor on which writing has no effect."""

        def copy_(self, *_: object, **__: object) -> torch.Tensor:
            return self

    taken = snapshots.take({"weight": torch.rand(4)}, dtype=torch.bfloat16)
    target = WeightsTarget({"weight": torch.zeros(4).as_subclass(Deaf)})
    assert target.load(taken) != snapshots.digest(taken.arrays)


def test_a_cast_travels_in_half_the_bytes_and_proves_itself() -> None:
    taken = snapshots.take({"weight": torch.rand(1000)}, dtype=torch.bfloat16)
    mine = {"weight": torch.zeros(1000)}
    assert taken.size_bytes == 2000
    assert WeightsTarget(mine).load(taken) == snapshots.digest(taken.arrays)
    assert mine["weight"].dtype == torch.float32


def test_tensors_that_are_no_plain_memory_travel_too() -> None:
    theirs = {"turned": torch.arange(6.0).view(2, 3).t(), "scalar": torch.tensor(True), "row": torch.rand(4)[::2]}
    mine = {name: torch.zeros(tensor.shape[::-1], dtype=tensor.dtype).t() for name, tensor in theirs.items()}
    taken = snapshots.take(theirs)
    assert WeightsTarget(mine).load(taken) == snapshots.digest(taken.arrays)
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weight": torch.zeros(3, 2)}, "no tensor count"),
        ({**tensors(1), "more": torch.zeros(1)}, "no tensor more"),
        ({**tensors(1), "weight": torch.zeros(2, 3)}, r"weight is \(2, 3\) as published and \(3, 2\)"),
    ],
)
def test_weights_of_another_policy_are_refused_and_change_nothing(given: dict[str, torch.Tensor], words: str) -> None:
    mine = tensors(0.0)
    with pytest.raises(ValueError, match=words):
        WeightsTarget(mine).load(snapshots.take(given))
    assert mine["weight"].sum() == 0


def test_what_no_state_dict_has_may_be_missing_and_stays_as_it_is() -> None:
    module = nn.BatchNorm1d(2)
    module.register_buffer("scale", torch.ones(2), persistent=False)
    theirs = {name: tensor + 1 for name, tensor in module.state_dict().items()}
    target = WeightsTarget(snapshots.by_every_name(module), snapshots.not_in_state_dicts(module))
    taken = snapshots.take(theirs)
    assert target.load(taken) == snapshots.digest(taken.arrays)
    assert (module.weight == 2).all()
    assert (module.scale == 1).all()
    with pytest.raises(ValueError, match="the published weights have no tensor weight"):
        target.load(snapshots.take({"bias": torch.zeros(2)}))


def test_a_tensor_that_repeats_a_number_cannot_be_loaded_and_is_named() -> None:
    mine = {"scale": torch.zeros(1).expand(3), "row": torch.zeros(1, 3).expand(1, 3)}
    with pytest.raises(ValueError, match=r"^weights: several numbers of scale share one place in memory"):
        WeightsTarget(mine).load(snapshots.take({"row": torch.ones(1, 3), "scale": torch.ones(3)}))
    assert mine["row"].sum() == 0


def replace_buffer(module: Any) -> None:
    module[0].running_mean = module[0].running_mean + 5


def replace_parameter(module: Any) -> None:
    module[1].weight = nn.Parameter(torch.full((2, 2), 5.0))


def replace_module(module: Any) -> None:
    module[1] = nn.Linear(2, 2)


def replace_memory(module: Any) -> None:
    module[1].weight.data = module[1].weight.data.clone()


def add_module(module: Any) -> None:
    module.append(nn.Linear(2, 2))
    del module[2]


CHANGES = [replace_buffer, replace_parameter, replace_module, replace_memory, add_module]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_weights_reach_what_the_module_has_now(change: Callable[[Any], None]) -> None:
    def made(value: float) -> nn.Sequential:
        module = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.data.fill_(value)
        return module

    mine = made(0.0)
    target = ModulesTarget({"": mine})
    for value in (1.0, 2.0):
        taken = snapshots.take(snapshots.by_every_name(made(value)))
        assert target.load(taken) == snapshots.digest(taken.arrays)
        assert all((tensor == value).all() for tensor in (*mine.parameters(), *mine.buffers()))
        change(mine)


def test_weights_that_do_not_fit_what_the_module_has_now_are_refused() -> None:
    mine = nn.Sequential(nn.Linear(2, 2))
    target = ModulesTarget({"": mine})
    taken = snapshots.take(snapshots.by_every_name(nn.Sequential(nn.Linear(2, 2))))
    target.load(taken)
    mine[0] = nn.Linear(3, 2)
    with pytest.raises(ValueError, match=r"0\.weight is \(2, 2\) as published and \(2, 3\)"):
        target.load(taken)
