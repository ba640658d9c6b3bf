"""A snapshot travels without a copy of its bytes, whatever its tensors are."""

from __future__ import annotations

import pickle

import torch

from collectorfleet.codec import snapshot as snapshots
from collectorfleet.codec.snapshot import Snapshot

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
    assert travelled(snapshots.NOTHING)[0] == snapshots.NOTHING
