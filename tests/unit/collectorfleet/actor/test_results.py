"""Results of the user's calls do not change after the call, and are otherwise what the call returned."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase
from tests import envs
from torch import nn
from torchrl.envs import StepCounter

from collectorfleet.actor.results import copied


class Pair(NamedTuple):
    first: Any
    second: Any


def graph() -> torch.Tensor:
    return torch.ones(2, requires_grad=True) * 3


CASES = {
    "tensor": (torch.ones(2), lambda one: one),
    "parameter": (nn.Parameter(torch.ones(2)), lambda one: one),
    "result of autograd": (graph(), lambda one: one),
    "array": (np.ones(2), lambda one: one),
    "TensorDict": (TensorDict({"a": {"b": torch.ones(2)}}, [2]), lambda one: one["a", "b"]),
    "stack": (LazyStackedTensorDict(TensorDict({"a": torch.ones(2)})), lambda one: one[0]["a"]),
    "module": (nn.Linear(2, 2), lambda one: one.weight),
    "containers": ({"a": [(torch.ones(2), 1)]}, lambda one: one["a"][0][0]),
    "named tuple": (Pair(torch.ones(2), 1), lambda one: one.first),
    "state": (nn.Linear(2, 2).state_dict(), lambda one: one["weight"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_copy_has_the_values_and_keeps_them(case: str) -> None:
    result, inner = CASES[case]
    found = copied(result)
    assert type(found) is type(result)
    mine, theirs = inner(found), inner(result)
    assert type(mine) is type(theirs)
    before = np.array(mine.tolist())
    assert before.tolist() == theirs.tolist()
    with torch.no_grad():
        theirs[:] = 7
    assert np.array(mine.tolist()).tolist() == before.tolist()


def test_a_copy_keeps_what_belongs_to_the_containers_and_tensors() -> None:
    state = nn.Linear(2, 2).state_dict()
    found = copied(state)
    assert isinstance(found, OrderedDict)
    assert found._metadata == state._metadata
    tensor = torch.ones(2, requires_grad=True)
    first, second = copied([tensor, tensor])
    assert first is second
    assert first.requires_grad


def test_a_list_that_contains_itself_is_copied() -> None:
    result: list[Any] = [torch.ones(2)]
    result.append(result)
    found = copied(result)
    assert found[1] is found
    assert found is not result


@pytest.mark.parametrize("make", [envs.make_counting, StepCounter, object, lambda: torch.nn.LazyLinear(2).weight])
def test_other_objects_are_not_copied(make: Any) -> None:
    one = make()
    assert copied(one) is one
    assert copied([one])[0] is one


def test_non_tensors_of_a_tensordict_are_in_its_copy() -> None:
    found: TensorDictBase = copied(TensorDict({"a": torch.ones(2), "name": "level"}))
    assert found["name"] == "level"
