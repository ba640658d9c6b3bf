"""A snapshot travels without a copy of its bytes, whatever its tensors are."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable

import pytest
import torch
from torch import nn

from collectorfleet.codec import snapshot as snapshots
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.errors import InvalidOption

TENSORS = {
    "matrix": torch.arange(6).view(2, 3),
    "scalar": torch.tensor(1.5, dtype=torch.bfloat16),
    "empty": torch.zeros(0, 4),
    "transposed": torch.randn(3, 5).t(),
}


def travelled(snapshot: Snapshot) -> tuple[Snapshot, list[pickle.PickleBuffer]]:
    """As Ray sends it: buffers beside the message, handed over read-only."""
    buffers: list[pickle.PickleBuffer] = []
    message = pickle.dumps(snapshot, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(message, buffers=[one.raw().toreadonly() for one in buffers]), buffers


def test_what_arrives_is_what_was_taken() -> None:
    taken = snapshots.take(TENSORS)
    arrived, _ = travelled(taken)
    assert (arrived.entries, arrived.whole) == (taken.entries, True)
    assert snapshots.digest(arrived.arrays) == snapshots.digest(taken.arrays)
    for (name, tensor), entry, array in zip(TENSORS.items(), arrived.entries, arrived.arrays, strict=True):
        assert entry.name == name
        assert torch.equal(snapshots.tensor_of(entry, array), tensor)


def test_bytes_are_beside_the_message_and_read_only_where_they_arrive() -> None:
    taken = snapshots.take({"weights": torch.zeros(10_000)})
    arrived, buffers = travelled(taken)
    assert [one.raw().nbytes for one in buffers] == [40_000]
    assert not arrived.arrays[0].flags.writeable


def test_nothing_travels_too() -> None:
    assert travelled(snapshots.EMPTY_SNAPSHOT)[0] == snapshots.EMPTY_SNAPSHOT


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0)], ids=str)
def test_a_tensor_without_values_is_read_from_every_copy(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    taken = snapshots.take({"empty": torch.zeros(shape, dtype=dtype)})
    arrived, _ = travelled(taken)
    for snapshot in (taken, arrived, snapshots.copied(arrived)):
        found = snapshots.tensors_by_name(snapshot)["empty"]
        assert (found.shape, found.dtype) == (torch.Size(shape), dtype)


def test_a_snapshot_is_printed_without_its_bytes() -> None:
    assert "arrays" not in repr(snapshots.take(TENSORS))


def test_a_tensor_without_its_bytes_is_an_error() -> None:
    taken = snapshots.take(TENSORS)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        snapshots.tensors_by_name(Snapshot(taken.entries, taken.arrays[:-1]))


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LazyLinear(4)
        self.last = nn.Linear(4, 2)


LAZY = (
    "weights: first.weight has no shape yet, because no data went through its module; first call the policy once with "
    "data of the environment"
)
META = (
    "weights: first.weight is on the meta device and has no values; first call module.to_empty(device='cpu'), and then "
    "initialize or load the weights"
)


def on_meta() -> nn.Module:
    with torch.device("meta"):
        return nn.Sequential(OrderedDict(first=nn.Linear(3, 2)))


@pytest.mark.parametrize("read", [snapshots.tensors_of, snapshots.by_every_name])
@pytest.mark.parametrize(("module", "sentence"), [(Lazy(), LAZY), (on_meta(), META)], ids=["lazy", "meta"])
def test_a_module_without_values_is_refused_with_the_parameters_name(
    module: nn.Module, sentence: str, read: Callable[[nn.Module], object]
) -> None:
    with pytest.raises(InvalidOption) as refused:
        read(module)
    assert str(refused.value) == sentence
