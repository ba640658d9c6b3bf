"""Whether an object is still as it was when a loop was chosen."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from collectorfleet.actor.rollout.structure import Structure


class Settings:
    def __init__(self, value: Any) -> None:
        self.value = value


class RaisesWhenCompared:
    def __eq__(self, other: object) -> bool:
        raise KeyError("keys in tensordicts mismatch")

    __hash__ = None  # type: ignore[assignment]  # what is compared by value has none


@pytest.mark.parametrize("value", [1, "a", None, (1, 2), torch.ones(2), RaisesWhenCompared(), [1], {"a": 1}])
def test_an_object_that_is_left_alone_has_not_changed(value: Any) -> None:
    assert Structure([Settings(value)]).change() is None


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, 2), (None, 1), (torch.ones(2), torch.ones(2)), (RaisesWhenCompared(), RaisesWhenCompared())],
)
def test_another_value_is_a_change_also_if_it_cannot_be_compared(before: Any, after: Any) -> None:
    settings = Settings(before)
    structure = Structure([settings])
    settings.value = after
    assert structure.change() == "Settings.value"


def test_a_collection_that_is_filled_in_place_is_a_change() -> None:
    settings = Settings({"high": 1.0})
    structure = Structure([settings])
    settings.value["high"] = 2.0
    assert structure.change() == "Settings.value"


def test_a_hook_of_a_policys_module_is_a_change() -> None:
    module = nn.Linear(2, 2)
    structure = Structure([module])
    module.register_forward_hook(lambda *_: None)
    assert structure.change() == "Linear._forward_hooks"
