"""Which dtype has every value of another one, by trying values."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from collectorfleet.codec.dtypes import holds

FLOATS = [
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
]
INTEGERS = [torch.uint8, torch.uint16, torch.int8, torch.int16, torch.int32, torch.int64]
ALL = [*FLOATS, *INTEGERS, torch.bool, torch.complex64, torch.complex128]


def extremes(dtype: torch.dtype) -> torch.Tensor:
    """Values that need all that the dtype has: its largest, smallest and finest."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    if dtype in INTEGERS:
        limits = torch.iinfo(dtype)
        return torch.tensor([limits.min, limits.max, limits.max - 1], dtype=dtype)
    limits = torch.finfo(dtype)
    smallest = limits.smallest_normal * limits.eps
    values = torch.tensor([limits.max, limits.min, 1 + limits.eps, smallest], dtype=torch.float64)
    return torch.complex(values, values).to(dtype) if dtype.is_complex else values.to(dtype)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one.to(torch.complex128), other.to(torch.complex128))


@pytest.mark.parametrize(("into", "of"), list(product(ALL, ALL)), ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_what_holds_every_value_gives_each_of_them_back(into: torch.dtype, of: torch.dtype) -> None:
    values = extremes(of)
    there = values.to(into)
    survive = same(there, values) and same(there.to(of), values)
    assert holds(into, of) == survive


def test_a_dtype_that_torch_knows_nothing_about_holds_only_itself() -> None:
    assert holds(torch.int4, torch.int4)
    assert not holds(torch.float32, torch.int4)
    assert not holds(torch.int4, torch.float32)
