from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_api.packing.quantity import QuantityError, format_cpu, format_memory, parse_quantity, whole_cpus


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
    ("suffix", "factor"),
    [
        *(("n", Fraction("1e-9")), ("u", Fraction("1e-6")), ("m", Fraction("1e-3"))),
        *(("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12), ("P", 10**15), ("E", 10**18)),
        *(("Ki", 1024), ("Mi", 1024**2), ("Gi", 1024**3), ("Ti", 1024**4), ("Pi", 1024**5), ("Ei", 1024**6)),
    ],
)
def test_each_suffix_of_kubernetes_has_its_factor(suffix: str, factor: Fraction | int) -> None:
    assert parse_quantity(f"3{suffix}") == 3 * factor


@pytest.mark.parametrize(("cpus", "threads"), [(0, 1), ("100m", 1), (1, 1), ("1001m", 2), (1.5, 2), (2, 2)], ids=str)
def test_threads_are_rounded_up_and_at_least_one(cpus: str | float, threads: int) -> None:
    assert whole_cpus(cpus) == threads


def test_quantities_are_written_with_the_largest_suffix_that_divides_them() -> None:
    assert [format_cpu(Fraction(milli, 1000)) for milli in (0, 1500, 2000)] == ["0", "1500m", "2"]
    sizes = {1000: "1000", 1024: "1Ki", 1025: "1025", 3 * 2**29: "1536Mi", 2**30: "1Gi", 2**40: "1Ti", 2**50: "1Pi"}
    assert {size: format_memory(size) for size in sizes} == sizes
    assert format_memory(2**60) == "1Ei"


def test_a_text_too_long_to_read_is_shown_in_part() -> None:
    with pytest.raises(QuantityError) as refused:
        parse_quantity("1" * 101)
    assert str(refused.value).startswith(f"{'1' * 100}... is not a quantity; ")
    assert parse_quantity("1" * 100) == int("1" * 100)


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
