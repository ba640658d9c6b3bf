"""Arrays of any dtype and shape come out of one tensor of bytes as they went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from collectorfleet.transport.processes.packed import pack

ARRAYS = npst.arrays(
    st.sampled_from(["<f4", "<f8", "<i8", "|u1", "|b1", "<f2"]),
    npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)


@given(st.lists(ARRAYS, max_size=6))
def test_arrays_come_back_in_memory_of_their_own(arrays: list[np.ndarray]) -> None:
    layout, packed = pack(arrays)
    found = layout.views(packed)
    assert [(one.dtype, one.shape) for one in found] == [(one.dtype, one.shape) for one in arrays]
    for mine, theirs in zip(found, arrays, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert not np.shares_memory(mine, theirs)
        assert mine.flags.aligned


def test_what_is_not_contiguous_is_packed_as_it_reads() -> None:
    layout, packed = pack([np.arange(12).reshape(3, 4).T])
    assert layout.views(packed)[0].tolist() == np.arange(12).reshape(3, 4).T.tolist()
