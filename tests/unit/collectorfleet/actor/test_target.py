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


def grow(module: Any) -> None:
    module.cache = torch.zeros(5, 2)


def widen(module: Any) -> None:
    module.cache = torch.full((2, 2), 0.5)


def expand(module: Any) -> None:
    module.cache = torch.zeros(1, 2, dtype=torch.int64).expand(2, 2)


def remove(module: Any) -> None:
    module.cache = None


def add(module: Any) -> None:
    module.later = torch.zeros(3)


def with_cache() -> nn.Module:
    module = nn.Linear(2, 2)
    module.register_buffer("cache", torch.ones(2, 2, dtype=torch.int64))
    module.register_buffer("later", None)
    return module


@pytest.mark.parametrize("change", [grow, widen, expand, remove, add], ids=lambda one: one.__name__)
def test_a_policy_keeps_a_buffer_that_it_made_of_another_kind(change: Callable[[Any], None]) -> None:
    mine = with_cache()
    target = ModulesTarget({"": mine})
    change(mine)
    before = {name: tensor.clone() for name, tensor in mine.named_buffers()}
    for _ in range(2):
        theirs = with_cache()
        taken = snapshots.take(snapshots.by_every_name(theirs))
        assert target.load(taken) == snapshots.digest(taken.arrays)
        assert torch.equal(mine.weight, theirs.weight)
        assert all(torch.equal(mine.get_buffer(name), tensor) for name, tensor in before.items())


def test_a_buffer_that_a_policy_made_later_is_loaded_if_it_is_published() -> None:
    mine, theirs = with_cache(), with_cache()
    target = ModulesTarget({"": mine})
    add(mine)
    theirs.later = torch.ones(3)
    target.load(snapshots.take(snapshots.by_every_name(theirs)))
    assert (mine.later == 1).all()


def test_weights_reach_a_tensor_whose_memory_is_read_in_another_order() -> None:
    mine, theirs = nn.Linear(2, 2), nn.Linear(2, 2)
    target = ModulesTarget({"": mine})
    mine.weight.data = mine.weight.data.t()
    taken = snapshots.take(snapshots.by_every_name(theirs))
    assert target.load(taken) == snapshots.digest(taken.arrays)
    assert torch.equal(mine.weight, theirs.weight)


def test_a_layer_that_lists_its_parameters_itself_is_loaded() -> None:
    class Lists(nn.Linear):
        def parameters(self) -> Any:  # type: ignore[override]
            return [self.weight]

    mine, theirs = nn.Sequential(Lists(2, 2)), nn.Sequential(nn.Linear(2, 2))
    taken = snapshots.take(snapshots.by_every_name(theirs))
    assert ModulesTarget({"": mine}).load(taken) == snapshots.digest(taken.arrays)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("sparse", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr], ids=["coo", "csr"])
def test_a_policy_may_have_a_sparse_buffer_that_is_not_published(sparse: Callable[[torch.Tensor], Any]) -> None:
    mine, theirs = nn.Linear(2, 2), nn.Linear(2, 2)
    mine.register_buffer("adjacency", sparse(torch.eye(2)))
    target = ModulesTarget({"": mine})
    taken = snapshots.take(snapshots.by_every_name(theirs), whole=False)
    assert target.load(taken) == snapshots.digest(taken.arrays)
    assert torch.equal(mine.weight, theirs.weight)
