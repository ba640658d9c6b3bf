"""Whether the API server already has what a manifest asks for."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_operator.children.diff import DIFFERS, covers, difference


@pytest.mark.parametrize(
    ("stored", "asked", "same"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="defaults may be added"),
        pytest.param({"a": 1}, {"a": 2}, False, id="a value differs"),
        pytest.param({}, {"a": {}, "b": [], "c": None}, True, id="nothing is asked for"),
        pytest.param({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True, id="items may hold more"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="an item too many"),
        pytest.param(None, {"a": 1}, False, id="nothing stored"),
    ],
)
def test_what_is_stored_covers_what_is_asked(stored: Any, asked: Any, same: bool) -> None:
    assert covers(stored, asked) is same


def test_a_difference_has_words_and_none_has_not() -> None:
    assert difference({"a": 1}, {"a": 2}) == DIFFERS
    assert difference({"a": 1, "b": 2}, {"a": 1}) == ""
