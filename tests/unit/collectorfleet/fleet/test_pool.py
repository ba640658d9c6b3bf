"""Memory of batches is used again, but never while anybody can see it."""

from __future__ import annotations

from collections import deque

import pytest
import torch
from tensordict import TensorDict, TensorDictBase

from collectorfleet.codec import tensors as wire
from collectorfleet.codec.frames import Part
from collectorfleet.fleet.assemble import assemble
from collectorfleet.fleet.pool import SMALLEST_BYTES, BufferPool
from collectorfleet.messages import Segment
from collectorfleet.transport.ray.node_watch import spilled_bytes

LARGE = (SMALLEST_BYTES // 4,)


def test_memory_comes_back_when_the_last_view_of_it_is_gone() -> None:
    pool = BufferPool()
    tensor = pool.empty(LARGE, torch.float32)
    view = tensor.view(2, -1)[1, :3]
    address = tensor.data_ptr()
    del tensor
    assert pool.free_bytes() == 0
    assert pool.empty(LARGE, torch.float32).data_ptr() != address
    array = view.numpy()
    del view
    other = pool.empty(LARGE, torch.float32)
    assert other.data_ptr() != address  # the array still sees it
    del array
    assert pool.empty(LARGE, torch.float32).data_ptr() == address


def test_dtypes_share_memory_of_the_same_size() -> None:
    pool = BufferPool()
    address = pool.empty(LARGE, torch.float32).data_ptr()
    again = pool.empty(LARGE, torch.int32)
    assert again.data_ptr() == address
    assert again.dtype == torch.int32
    assert pool.reused == 1


def test_small_tensors_are_not_pooled() -> None:
    pool = BufferPool()
    pool.empty((10,), torch.float32)
    assert pool.free_bytes() == 0


def test_batches_of_changing_size_leave_no_more_than_what_was_lately_in_use_at_once() -> None:
    pool, batch = BufferPool(), None
    largest = 0
    for number in range(1000):
        size = SMALLEST_BYTES + (number * 7919) % 500_000
        largest = max(largest, size)
        # The batch before it is still there while it is filled.
        batch = pool.empty((size,), torch.uint8)
        assert pool.free_bytes() <= 2 * largest
    del batch
    assert pool.free_bytes() <= 2 * largest


def test_what_a_large_batch_took_is_let_go_after_many_small_ones() -> None:
    pool = BufferPool()
    pool.empty((50_000_000,), torch.uint8)
    for _ in range(300):
        pool.empty(LARGE, torch.float32)
    assert pool.free_bytes() == SMALLEST_BYTES


def part(value: float, version: int, life: int = 1) -> Part:
    batch = TensorDict(
        {
            "pixels": torch.full((4, 32, 32, 8), value, dtype=torch.bfloat16),
            "next": {"reward": torch.full((4, 1), value)},
            "collector": {"traj_ids": torch.tensor([0, 0, 1, -1], dtype=torch.int32)},
        },
        batch_size=[4],
        names=["time"],
    )
    return Part(wire.encode(batch), (Segment(0, version), Segment(3, version + 1)), life)


def test_batches_are_stacked_into_pooled_memory_with_versions_and_distinct_trajectories() -> None:
    pool = BufferPool()
    batch = assemble([part(1.0, 5, life=1), part(2.0, 7, life=2)], stacked=True, pool=pool)
    assert batch.shape == (2, 4)
    assert batch.names == [None, "time"]
    assert batch["pixels"].dtype == torch.bfloat16
    assert batch["pixels"][:, 0, 0, 0, 0].tolist() == [1.0, 2.0]
    assert batch["collector", "weights_version"].tolist() == [[5, 5, 5, 6], [7, 7, 7, 8]]
    ids = batch["collector", "traj_ids"]
    assert ids[0, 3] == ids[1, 3] == -1
    assert not set(ids[0, :3].tolist()) & set(ids[1, :3].tolist())


def test_a_batch_that_is_kept_does_not_change_when_the_next_ones_come() -> None:
    pool = BufferPool()
    kept = assemble([part(1.0, 1)], stacked=False, pool=pool)["pixels"]
    for value in range(2, 6):
        assemble([part(float(value), 1)], stacked=False, pool=pool)
    assert (kept == 1).all()
    assert pool.reused


def images(value: int, frames: int) -> Part:
    """16 kB a frame: some batches of them are pooled, some are too small for that."""
    pixels = torch.full((frames, 64, 64, 2), value, dtype=torch.int16)
    batch = TensorDict({"pixels": pixels, "next": {"reward": torch.full((frames, 1), float(value))}}, [frames])
    return Part(wire.encode(batch), (Segment(0, value),), 1)


def test_batches_of_changing_size_have_their_own_frames_and_leave_no_more_than_was_in_use_at_once() -> None:
    pool = BufferPool()
    held: deque[tuple[int, TensorDictBase]] = deque()

    def in_use() -> int:
        sizes = [batch["pixels"].nbytes for _, batch in held]
        return sum(size for size in sizes if size >= SMALLEST_BYTES)

    most = 0
    for number in range(120):
        # The consumer still has one or two batches, of other sizes, while the next one is made.
        while len(held) > 1 + number % 2:
            held.popleft()
        frames = 1 + number // 5 * 7919 % 13
        held.append((number, assemble([images(number, frames), images(number, frames)], stacked=True, pool=pool)))
        most = max(most, in_use())
        assert pool.free_bytes() + in_use() <= most
        for value, batch in held:
            assert (batch["pixels"] == value).all()
            assert (batch["next", "reward"] == value).all()
            assert (batch["collector", "weights_version"] == value).all()
    assert pool.reused > 20


def test_parts_of_different_lengths_make_a_ragged_batch() -> None:
    short = part(2.0, 1)
    batch = wire.decode(short.encoded)[:2]
    ragged = assemble([part(1.0, 1), Part(wire.encode(batch), short.segments, 2)], stacked=True, pool=BufferPool())
    assert [tuple(one.shape) for one in ragged] == [(4,), (2,)]


def test_views_are_not_copied() -> None:
    given = part(1.0, 1)
    batch = assemble([given], stacked=False, pool=BufferPool(), copy=False)
    (pixels,) = [array for array in given.encoded.arrays if array.nbytes == batch["pixels"].nbytes]
    assert batch["pixels"].data_ptr() == pixels.ctypes.data


def test_what_a_node_says_it_spilled_is_read_from_its_metrics() -> None:
    page = (
        "# TYPE ray_object_store_memory gauge\n"
        'ray_object_store_memory{Component="raylet",Location="IN_MEMORY",Version="2.60.0"} 12.0\n'
        'ray_object_store_memory{Component="raylet",Location="SPILLED",Version="2.60.0"} 1.5e+06\n'
    )
    assert spilled_bytes(page) == 1_500_000
    assert spilled_bytes("") is None


@pytest.mark.parametrize(
    "text", ["ray_object_store_memory{\n", 'ray_object_store_memory{Location="SPILLED"\n', '{Location="SPILLED"']
)
def test_odd_metrics_of_a_node_do_not_delay_the_driver(text: str) -> None:
    assert spilled_bytes("ray_object_store_memory{" + text * 300_000) is None  # with backtracking, hours
