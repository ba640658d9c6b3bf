"""Entries of a manifest are checked to the last number."""

from __future__ import annotations

import pytest

from collectorfleet.run.output.entries import counter_problem, shape_problem, shown

LARGEST = 9_223_372_036_854_775_807


@pytest.mark.parametrize("value", [0, 1, LARGEST])
def test_a_whole_number_of_64_bits_is_a_counter(value: int) -> None:
    assert counter_problem({"frames": value}, "frames") is None


@pytest.mark.parametrize("value", [-1, LARGEST + 1, 1.0, True, None, "1"], ids=repr)
def test_any_other_value_is_no_counter_and_is_named(value: object) -> None:
    said = f"shards[0].frames is {value!r}, not a whole number from 0 to 2^63 - 1"
    assert counter_problem({"min": 0, "frames": value}, "min", "frames", where="shards[0].") == said


def test_each_size_of_a_shape_is_a_counter() -> None:
    assert shape_problem([2, 0], where="shape") is None
    for shape in ([2, -1], [-1, 2], (2, 2), 2):
        assert shape_problem(shape, where="shape") == f"shape is {shape}, not a list of sizes"


def test_a_message_has_the_first_40_characters_of_a_value() -> None:
    assert shown("x" * 38) == repr("x" * 38)
    assert shown("x" * 39) == f"'{'x' * 39}..."
