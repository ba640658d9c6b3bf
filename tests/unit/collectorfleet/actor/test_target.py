"""Weights that are loaded in place, with proof of what then is there."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from collectorfleet.actor.target import WeightsTarget
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
