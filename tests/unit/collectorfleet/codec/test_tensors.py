"""A TensorDict is the same where it is read, whatever is in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import LazyStackedTensorDict, NonTensorData, TensorDict, TensorDictBase

from collectorfleet.codec.tensors import Encoded, decode, encode, fits_an_array
from collectorfleet.errors import UserCodeError

DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    *(torch.bfloat16, torch.float8_e5m2, torch.uint32, torch.uint64),
]


def leaf(encoded: Encoded, *path: str) -> Any:
    schema = encoded.schema
    assert schema is not None
    for key in path[:-1]:
        schema = schema.children[key]
    return encoded.arrays[schema.leaves[path[-1]].index]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_a_tensor_of_each_dtype_and_layout_is_the_same(dtype: torch.dtype, layout: str) -> None:
    value = torch.randn(3, 4).abs().mul(5).to(dtype)
    value = value if layout == "contiguous" else value.t().contiguous().t()
    found = decode(encode(TensorDict({"a": value}, [3])))["a"]
    assert found.dtype == dtype
    assert torch.equal(found.view(torch.uint8), value.contiguous().view(torch.uint8))


def test_conjugates_and_negatives_are_the_same() -> None:
    value = torch.randn(3, dtype=torch.complex64)
    batch = TensorDict({"conj": value.conj(), "neg": value.conj().imag}, [3])
    found = decode(encode(batch))
    assert torch.equal(found["conj"], value.conj().resolve_conj())
    assert torch.equal(found["neg"], -value.imag)


def test_a_contiguous_tensor_is_referenced_and_not_copied() -> None:
    value = torch.zeros(4)
    array = leaf(encode(TensorDict({"next": TensorDict({"a": value}, [4])}, [4])), "next", "a")
    value[2] = 7
    assert array.tolist() == [0, 0, 7, 0]


def test_only_arrays_count_as_size() -> None:
    batch = TensorDict({"a": torch.zeros(4, dtype=torch.float64), "text": NonTensorData("words", [4])}, [4])
    assert encode(batch).size_bytes == 32


def test_an_encoded_rollout_is_printed_without_its_bytes() -> None:
    assert repr(Encoded(None, [np.zeros(3)], [b"words"])) == "Encoded(schema=None)"


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("names", [None, ["env", "time"]])
def test_shape_names_and_device_are_the_same_at_each_level(device: str | None, names: list[str] | None) -> None:
    inner = TensorDict({"b": torch.zeros(2, 3, 5)}, [2, 3])
    batch = TensorDict({"a": torch.zeros(2, 3), "inner": inner}, [2, 3], names=names, device=device)
    found = decode(encode(batch))
    assert (found.batch_size, found.device, found.names) == (batch.batch_size, batch.device, batch.names)
    assert (found["inner"].batch_size, found["inner"].device) == (inner.batch_size, batch["inner"].device)
    assert found._has_names() == batch._has_names()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(NonTensorData({"words": 1}, [2]), id="no tensor"),
        pytest.param(torch.eye(2).to_sparse(), id="a sparse tensor"),
    ],
)
def test_what_no_array_can_carry_is_pickled_and_the_same(value: Any) -> None:
    encoded = encode(TensorDict({"first": torch.zeros(2), "odd": value}, [2]))
    assert (len(encoded.arrays), len(encoded.pickled)) == (1, 1)
    assert encoded.schema is not None
    assert encoded.schema.pickled == {"odd": 0}
    found = decode(encoded)
    assert torch.equal(found["first"], torch.zeros(2))
    if isinstance(value, torch.Tensor):
        assert (found["odd"].layout, found["odd"].dtype) == (value.layout, value.dtype)
        assert torch.equal(found["odd"].to_dense(), value.to_dense())
    else:
        assert found["odd"] == {"words": 1}


class OnAnotherDevice(torch.Tensor):
    """A tensor of a device that the reader does not have."""

    def cpu(self, *_: Any, **__: Any) -> torch.Tensor:
        return torch.eye(2).to_sparse()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("there is no such device")


@pytest.mark.filterwarnings("ignore:.*quantiz.*")
def test_what_no_array_can_carry_is_pickled_on_the_cpu() -> None:
    value = torch.quantize_per_tensor(torch.eye(2), 1.0, 0, torch.quint8).as_subclass(OnAnotherDevice)
    found = decode(encode(TensorDict({"odd": value}, [2])))["odd"]
    assert torch.equal(found.to_dense(), torch.eye(2))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantiz.*")
def test_only_a_plain_block_of_numbers_fits_an_array() -> None:
    plain = torch.zeros(2, 2)
    ragged_rows = torch.nested.nested_tensor([torch.zeros(1), torch.zeros(3)])
    quantized = torch.quantize_per_tensor(plain, 0.1, 0, torch.quint8)
    found = [fits_an_array(one) for one in (plain, plain.t(), plain.to_sparse(), ragged_rows, quantized)]
    assert found == [True, True, False, False, False]


class Raises:
    """An entry of the user that raises ``error``: when it is pickled, or when it is unpickled."""

    def __init__(self, error: BaseException, when: str) -> None:
        self.error, self.when = error, when

    def __reduce__(self) -> Any:
        if self.when == "pickled":
            raise self.error
        return raise_it, (self.error,)


def raise_it(error: BaseException) -> None:
    raise error


def with_entry(value: Any) -> TensorDictBase:
    return TensorDict({"a": torch.zeros(2), "odd": NonTensorData(value, [2])}, [2])


def test_an_entry_that_cannot_be_pickled_is_named() -> None:
    with pytest.raises(
        TypeError, match=r"^the entry odd cannot be pickled for the driver: ValueError: it is a socket;"
    ):
        encode(with_entry(Raises(ValueError("it is a socket"), "pickled")))


@pytest.mark.parametrize("error", [ValueError("no such class"), SystemExit("no such class")], ids=["error", "exit"])
def test_an_entry_that_cannot_be_unpickled_is_the_users_and_named(error: BaseException) -> None:
    encoded = encode(with_entry(Raises(error, "unpickled")))
    with pytest.raises(UserCodeError, match=r"^reading the entry odd of the frames in the driver: .*no such class"):
        decode(encoded)


def ragged(time: str | None = None) -> TensorDictBase:
    parts = [TensorDict({"a": torch.full((size, 2), float(size))}, []) for size in (1, 3)]
    return LazyStackedTensorDict(*parts, stack_dim=0, stack_dim_name=time)


def test_a_stack_of_different_shapes_is_one_again() -> None:
    found = decode(encode(ragged("time")))
    assert isinstance(found, LazyStackedTensorDict)
    assert (found.stack_dim, found.batch_size, found.names) == (0, torch.Size([2]), ["time"])
    assert [one["a"].tolist() for one in found.tensordicts] == [[[1.0, 1.0]], [[3.0, 3.0]] * 3]


def test_a_stack_of_equal_shapes_is_one_tensor() -> None:
    parts = [TensorDict({"a": torch.full((2,), float(number))}, [2]) for number in range(3)]
    found = decode(encode(LazyStackedTensorDict(*parts, stack_dim=1)))
    assert isinstance(found, TensorDict)
    assert (found.batch_size, found["a"].tolist()) == (torch.Size([2, 3]), [[0.0, 1.0, 2.0]] * 2)


def test_a_stack_within_another_tensordict_is_pickled() -> None:
    encoded = encode(TensorDict({"a": torch.zeros(2), "parts": ragged()}, [2]))
    assert len(encoded.pickled) == 1
    assert [one["a"].shape[0] for one in decode(encoded)["parts"].tensordicts] == [1, 3]


def test_a_rollout_without_its_schema_cannot_be_read() -> None:
    encoded = encode(TensorDict({"a": torch.zeros(2)}, [2]))
    with pytest.raises(ValueError, match="without its schema"):
        decode(replace(encoded, schema=None))


def test_schemas_of_rollouts_of_the_same_kind_are_equal_and_others_are_not() -> None:
    def schema(**entries: torch.Tensor) -> Any:
        return encode(TensorDict(dict(entries), [2])).schema

    assert schema(a=torch.zeros(2)) == schema(a=torch.ones(2))
    assert schema(a=torch.zeros(2)) != schema(a=torch.zeros(2, dtype=torch.float64))
    assert schema(a=torch.zeros(2)) != schema(b=torch.zeros(2))


class TestNextThatTheRootRepeats:
    """``compact``: what the root says a step later is left out."""

    def rollout(self, **following: torch.Tensor) -> TensorDictBase:
        seen = torch.arange(10.0).view(10, 1)
        return TensorDict({"seen": seen[:-1], "next": {"seen": seen[1:].clone(), **following}}, [9])

    def test_one_row_travels_of_an_episode_that_goes_on(self) -> None:
        encoded = encode(self.rollout(), compact=True)
        assert encoded.schema is not None
        (repeated,) = encoded.schema.children["next"].repeated.values()
        assert encoded.arrays[repeated.rows].tolist() == [[9.0]]
        assert encoded.arrays[repeated.where].tolist() == [8]
        assert decode(encoded)["next", "seen"].flatten().tolist() == list(range(1, 10))

    def test_nothing_is_left_out_unless_that_is_asked_for(self) -> None:
        encoded = encode(self.rollout())
        assert encoded.schema is not None
        assert not encoded.schema.children["next"].repeated

    @pytest.mark.parametrize(("steps", "differing"), [(9, 4), (9, 5), (8, 4), (8, 5)])
    def test_up_to_half_of_the_rows_may_differ(self, steps: int, differing: int) -> None:
        batch = self.rollout()[:steps].clone()
        # The last row differs in any case.
        batch["next", "seen"][: differing - 1] = -1.0
        encoded = encode(batch, compact=True)
        assert encoded.schema is not None
        assert bool(encoded.schema.children["next"].repeated) == (2 * differing <= steps)
        assert torch.equal(decode(encoded)["next", "seen"], batch["next", "seen"])

    def test_entries_of_another_name_dtype_or_shape_are_no_repetition(self) -> None:
        batch = self.rollout(other=torch.zeros(9, 1), wide=torch.zeros(9, 2), fine=torch.zeros(9, 1).double())
        batch["next", "seen"] = batch["next"].pop("seen")  # the last of all
        batch["wide"], batch["fine"] = torch.zeros(9, 1), torch.zeros(9, 1)
        encoded = encode(batch, compact=True)
        assert encoded.schema is not None
        assert encoded.schema.children["next"].repeated.keys() == {"seen"}
        assert all(torch.equal(decode(encoded)["next", key], batch["next", key]) for key in ("other", "wide", "fine"))

    def test_nested_entries_are_left_out_too_where_the_root_has_them(self) -> None:
        seen = torch.arange(10.0).view(10, 1)
        batch = TensorDict(
            {"agents": {"seen": seen[:-1]}, "next": {"agents": {"seen": seen[1:]}, "others": {"seen": seen[1:]}}}, [9]
        )
        encoded = encode(batch, compact=True)
        assert encoded.schema is not None
        following = encoded.schema.children["next"].children
        assert following["agents"].repeated.keys() == {"seen"}
        assert following["others"].leaves.keys() == {"seen"}
        found = decode(encoded)["next"]
        assert torch.equal(found["agents", "seen"], seen[1:])
        assert torch.equal(found["others", "seen"], seen[1:])

    def test_a_rollout_without_next_or_without_time_is_the_same(self) -> None:
        for batch in (TensorDict({"seen": torch.zeros(3)}, [3]), TensorDict({"next": {"seen": torch.zeros(3)}}, [])):
            found = decode(encode(batch, compact=True))
            assert set(found.keys(True, True)) == set(batch.keys(True, True))

    def test_what_is_put_together_is_in_memory_of_its_own(self) -> None:
        batch = self.rollout()
        found = decode(encode(batch, compact=True))
        found["next", "seen"].zero_()
        assert found["seen"].flatten().tolist() == list(range(9))
        assert not np.shares_memory(found["next", "seen"].numpy(), batch["seen"].numpy())
