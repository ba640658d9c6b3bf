"""Results of the user's calls do not change after the call, and are otherwise what the call returned."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from ray import cloudpickle
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase
from tests import envs
from torch import nn
from torchrl.envs import StepCounter

from collectorfleet.actor.results import copied


class Pair(NamedTuple):
    first: Any
    second: Any


class Named(dict[str, Any]):
    """Reads an entry as an attribute, as many users' dicts do. ``copy.deepcopy`` does not support such a dict."""

    __getattr__ = dict.__getitem__


class Noted(dict[str, Any]):
    """Has an attribute."""

    note: Any


class Simulator:
    """Starts if it is built and if it is unpickled."""

    started = 0

    def __init__(self) -> None:
        type(self).started += 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Simulator, ()

    def level(self) -> int:
        return 0


@dataclass(eq=False)
class Statistics:
    mean: torch.Tensor


def sgd(values: torch.Tensor) -> torch.optim.Optimizer:
    return torch.optim.SGD([nn.Parameter(values)], 0.1)


class Planner(nn.Linear):
    """Has a simulator."""

    simulator: Any


def graph() -> torch.Tensor:
    return torch.ones(2, requires_grad=True) * 3


def received(result: Any) -> Any:
    """Return the result that the driver gets."""
    return cloudpickle.loads(cloudpickle.dumps(result))


CASES = {
    "tensor": (torch.ones(2), lambda one: one),
    "parameter": (nn.Parameter(torch.ones(2)), lambda one: one),
    "result of autograd": (graph(), lambda one: one),
    "array": (np.ones(2), lambda one: one),
    "TensorDict": (TensorDict({"a": {"b": torch.ones(2)}}, [2]), lambda one: one["a", "b"]),
    "TensorDict of parameters": (TensorDict({"a": {"b": nn.Parameter(torch.ones(2))}}), lambda one: one["a", "b"]),
    "stack": (LazyStackedTensorDict(TensorDict({"a": torch.ones(2)})), lambda one: one[0]["a"]),
    "module": (nn.Linear(2, 2), lambda one: one.weight),
    "containers": ({"a": [(torch.ones(2), 1)]}, lambda one: one["a"][0][0]),
    "container with a module": ([nn.Linear(2, 2)], lambda one: one[0].weight),
    "container without a copy": (Named(a=torch.ones(2)), lambda one: one["a"]),
    "named tuple": (Pair(torch.ones(2), 1), lambda one: one.first),
    "state": (nn.Linear(2, 2).state_dict(), lambda one: one["weight"]),
    "dataclass": (Statistics(torch.ones(2)), lambda one: one.mean),
    "optimizer": (sgd(torch.ones(2)), lambda one: one.param_groups[0]["params"][0]),
    "frozen set": (frozenset([Statistics(torch.ones(2))]), lambda one: next(iter(one)).mean),
    "array of objects": (np.array([Statistics(torch.ones(2))]), lambda one: one[0].mean),
    "object beside a tensor": ([torch.zeros(1), Statistics(torch.ones(2))], lambda one: one[1].mean),
}


@pytest.mark.parametrize("case", CASES)
def test_a_copy_has_the_values_of_the_call(case: str) -> None:
    result, inner = CASES[case]
    before = inner(result).tolist()
    made = copied(result)
    with torch.no_grad():
        inner(result)[:] = 7
    found = received(made)
    assert type(found) is type(result)
    assert type(inner(found)) is type(inner(result))
    assert inner(found).tolist() == before


def test_a_copy_keeps_what_belongs_to_the_containers_and_tensors() -> None:
    state = nn.Linear(2, 2).state_dict()
    found = copied(state)
    assert isinstance(found, OrderedDict)
    assert found._metadata == state._metadata
    tensor = torch.ones(2, requires_grad=True)
    first, second = copied([tensor, tensor])
    assert first is second
    assert first.requires_grad


@pytest.mark.parametrize("tensor", [torch.ones(2), nn.Parameter(torch.ones(2))], ids=["tensor", "parameter"])
def test_a_copy_of_a_tensor_has_its_attributes(tensor: Any) -> None:
    tensor.group = "actor"
    assert received(copied(tensor)).group == "actor"


def test_modules_tensors_and_optimizers_of_a_result_share_their_parameters() -> None:
    shared = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(shared.parameters(), 0.1)
    actor, critic, weight, of_both = received(
        copied((nn.Sequential(shared), nn.Sequential(shared), shared.weight, optimizer))
    )
    assert actor[0] is critic[0]
    assert actor[0].weight is weight
    assert of_both.param_groups[0]["params"][0] is weight


def test_the_class_of_a_module_is_not_changed() -> None:
    class Policy(nn.Module):
        """Is pickled by value, like a class of a user's script."""

        def forward(self, observation: torch.Tensor) -> torch.Tensor:
            return observation

    before = Policy.forward
    copied(Policy())
    assert Policy.forward is before


def test_a_simulator_of_a_result_is_not_started_in_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = Planner(2, 2)
    planner.simulator = simulator = Simulator()
    monkeypatch.setattr(Simulator, "started", 0)
    for result in (planner, simulator, [simulator], defaultdict(simulator.level)):
        copied(result)
    assert Simulator.started == 0


def test_a_list_that_contains_itself_is_copied() -> None:
    result: list[Any] = [torch.ones(2)]
    result.append(result)
    found = copied(result)
    assert found[1] is found
    assert found is not result


@pytest.mark.parametrize(
    "make",
    [envs.make_counting, StepCounter, threading.Lock, lambda: torch.nn.LazyLinear(2).weight, lambda: TensorDict],
    ids=["environment", "transform", "lock", "lazy parameter", "class"],
)
def test_other_objects_are_not_copied(make: Any) -> None:
    one = make()
    assert copied(one) is one
    assert copied([one])[0] is one
    assert copied({"a": one})["a"] is one


def test_objects_that_belong_to_a_dict_are_not_copied() -> None:
    noted = Noted(a=1)
    noted.note = threading.Lock()
    assert copied(noted).note is noted.note
    found: Any = copied(defaultdict(noted.note.locked, a=1))
    assert found.default_factory.__self__ is noted.note


def test_non_tensors_of_a_tensordict_are_in_its_copy() -> None:
    found: TensorDictBase = copied(TensorDict({"a": torch.ones(2), "name": "level"}))
    assert found["name"] == "level"
