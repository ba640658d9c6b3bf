"""What travels once is the same twice again."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict, assert_close
from torch import Tensor

from collectorfleet.codec.tensors import decode, encode

DTYPES = [torch.float32, torch.float64, torch.uint8, torch.bool, torch.bfloat16, torch.int64]


def observed(shape: tuple[int, ...], steps: int, ends: list[int], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """What is seen before and after each of ``steps``, of two environments of which the first ends after ``ends``."""
    said = torch.randn(2, steps + 1, *shape).mul(9).to(dtype)
    before, after = said[:, :-1].clone(), said[:, 1:].clone()
    for step in ends:
        after[0, step] = torch.randn(shape).mul(9).to(dtype)
    return before, after


@given(
    shape=st.sampled_from([(), (3,), (2, 4), (5, 5, 3), (7,), (9,), (0,)]),
    steps=st.integers(1, 20),
    data=st.data(),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**20),
)
def test_a_rollout_is_the_same(
    shape: tuple[int, ...], steps: int, data: st.DataObject, dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(seed)
    ends = data.draw(st.lists(st.integers(0, steps - 1), max_size=4))
    before, after = observed(shape, steps, ends, dtype)
    deep, later = observed(shape, steps, ends, torch.float32)
    batch = TensorDict(
        {
            "observation": before,
            "agents": {"seen": deep},
            "action": torch.randn(2, steps, 2),
            "next": {"observation": after, "agents": {"seen": later}, "reward": torch.randn(2, steps, 1)},
        },
        [2, steps],
        names=[None, "time"],
    )
    found = decode(encode(batch, compact=True))
    assert set(found.keys(True, True)) == set(batch.keys(True, True))
    assert (found.batch_size, found.names) == (batch.batch_size, batch.names)
    for key in batch.keys(True, True):
        assert found.get(key).dtype == batch.get(key).dtype
        assert_close(found.select(key), batch.select(key), rtol=0, atol=0)


def test_large_observations_travel_once() -> None:
    before, after = observed((84, 84), 50, [3, 20], torch.uint8)
    batch = TensorDict({"pixels": before, "next": {"pixels": after}}, [2, 50])
    whole, once = encode(batch).size_bytes, encode(batch, compact=True).size_bytes
    assert once < 0.55 * whole


def test_a_rollout_of_environments_in_rows_and_columns_is_the_same_and_travels_once() -> None:
    said = torch.randn(2, 3, 7, 4)
    batch = TensorDict({"seen": said[:, :, :-1], "next": {"seen": said[:, :, 1:].clone()}}, [2, 3, 6])
    batch["next", "seen"][1, 2, 3] = -1.0
    encoded = encode(batch, compact=True)
    assert encoded.schema is not None
    repeated = encoded.schema.children["next"].repeated["seen"]
    # The last of each environment's six steps, and the changed step.
    assert encoded.arrays[repeated.where].tolist() == [5, 11, 17, 23, 29, 33, 35]
    assert torch.equal(decode(encoded)["next", "seen"], batch["next", "seen"])


def test_what_is_not_a_number_is_compared_by_its_bits() -> None:
    before, after = observed((3,), 8, [], torch.float32)
    before[:, 4] = torch.nan
    after[:, 3] = torch.nan
    batch = TensorDict({"observation": before, "next": {"observation": after}}, [2, 8])
    encoded = encode(batch, compact=True)
    assert encoded.schema is not None
    assert "observation" in encoded.schema.children["next"].repeated
    assert torch.equal(decode(encoded)["next", "observation"].isnan(), after.isnan())


def test_what_never_repeats_travels_as_it_is() -> None:
    batch = TensorDict({"observation": torch.randn(2, 8, 3), "next": {"observation": torch.randn(2, 8, 3)}}, [2, 8])
    encoded = encode(batch, compact=True)
    assert encoded.schema is not None
    assert not encoded.schema.children["next"].repeated
