"""Arguments of ``map_fn``: one entry for each collector, or one sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.calls import calls_of_each
from collectorfleet.fleet.control import FleetControl


def test_each_collector_gets_its_own_arguments() -> None:
    assert calls_of_each("env.set_seed", ["c0", "c1"], [(1,), [2]], [{}, {"static_seed": True}]) == {
        "c0": ("env.set_seed", (1,), {}),
        "c1": ("env.set_seed", (2,), {"static_seed": True}),
    }
    assert calls_of_each("reset", ["c0"], None, None) == {"c0": ("reset", (), {})}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param(
            {"list_of_args": 42},
            "map_fn: list_of_args is an int; pass a list with one tuple of arguments for each of 2 collectors, such as "
            "[(42,)] * 2",
            id="a number",
        ),
        pytest.param(
            {"list_of_args": [42, 43]},
            "map_fn: list_of_args[0] is an int; pass a list with one tuple of arguments for each of 2 collectors, such "
            "as [(42,)] * 2",
            id="numbers",
        ),
        pytest.param(
            {"list_of_args": ["abc", "def"]},
            "map_fn: list_of_args[0] is a str; pass a list with one tuple of arguments for each of 2 collectors, such "
            "as [('abc',)] * 2",
            id="words",
        ),
        pytest.param(
            {"list_of_kwargs": {"seed": 1}},
            "map_fn: list_of_kwargs is a dict; pass a list with one dict of arguments for each of 2 collectors",
            id="one dict",
        ),
        pytest.param(
            {"list_of_kwargs": [{}, None]},
            "map_fn: list_of_kwargs[1] is None; pass a list with one dict of arguments for each of 2 collectors",
            id="no dict",
        ),
        pytest.param(
            {"list_of_args": [(1,)]},
            "list_of_args: Expected 2 argument entries, one for each collector, got 1",
            id="too few",
        ),
    ],
)
def test_arguments_that_are_not_lists_of_arguments_are_refused_in_a_sentence(
    given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidOption) as refused:
        calls_of_each("env.set_seed", ["c0", "c1"], given.get("list_of_args"), given.get("list_of_kwargs"))
    assert str(refused.value) == sentence


def test_what_was_called_is_remembered_for_collectors_that_come_later() -> None:
    asked = SimpleNamespace(names=lambda: ["c0"], call_all=lambda _method, calls: {"c0": calls["c0"]})
    noted: list[str] = []
    fleet: Any = SimpleNamespace(_inquiry=lambda *_: asked, _consumer=SimpleNamespace(note_mapped=noted.append))
    assert FleetControl.map_fn(fleet, "env.set_level", [(3,)]) == [("env.set_level", (3,), {})]
    assert noted == ["env.set_level"]
