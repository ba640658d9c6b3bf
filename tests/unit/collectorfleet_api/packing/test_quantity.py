from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.quantity import QuantityError, format_cpu, format_memory, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (1, Fraction(1)),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(1, 10)),
        ("500m", Fraction(1, 2)),
        ("2Gi", Fraction(2**31)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("100M", Fraction(10**8)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
    ],
    ids=str,
)
def test_quantities_are_read_exactly(text: str | float, value: Fraction) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "two", "-1", -1, "2GB", "2 Gi", "1e", True, "1e999999", "²", "1" * 5_000],
    ids=lambda text: repr(text)[:20],
)
def test_text_that_is_no_quantity_is_refused_with_an_example(text: str | int) -> None:
    with pytest.raises(QuantityError, match="is not a quantity; write a number that is not negative, such as 2"):
        parse_quantity(text)


def test_what_does_not_come_out_even_is_rounded_up() -> None:
    assert format_cpu(Fraction("0.0001")) == "1m"
    assert format_memory(Fraction("0.5")) == "1"


@given(st.integers(0, 10**6))
def test_cpus_survive_writing_and_reading(milli: int) -> None:
    assert parse_quantity(format_cpu(Fraction(milli, 1000))) == Fraction(milli, 1000)


@given(st.integers(0, 2**50))
def test_bytes_survive_writing_and_reading(size_bytes: int) -> None:
    assert parse_quantity(format_memory(size_bytes)) == size_bytes
