"""Frames of several policies in one replay actor's memory."""

from __future__ import annotations

import io
from collections import Counter, deque
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from tests.example_count import examples
from torchrl.data import LazyTensorStorage

from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.learners.replay import PolicyReplay


def frames(*versions: int) -> TensorDict:
    made = TensorDict({"x": torch.zeros(len(versions))}, [len(versions)])
    made[VERSION_KEY] = torch.tensor(versions)
    return made


def test_frames_are_counted_by_the_version_that_made_them_and_the_oldest_leave() -> None:
    replay = PolicyReplay(capacity=4)
    replay.extend("a", frames(1, 1, 2))
    replay.extend("b", frames(7))
    assert replay.weights_versions("a") == {1: 2, 2: 1}
    replay.extend("a", frames(3, 3))
    assert replay.weights_versions("a") == {1: 1, 2: 1, 3: 2}
    assert replay.weights_versions("b") == {7: 1}


WRITES = st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 3), min_size=1, max_size=7))
FORGET_OR_RELOAD = st.tuples(st.sampled_from("ab"), st.sampled_from(["forget", "reload"]))


@settings(max_examples=examples(30))
@given(st.integers(7, 9), st.lists(WRITES | FORGET_OR_RELOAD, max_size=12))
def test_the_counts_are_those_of_the_newest_frames_of_each_policy(
    capacity: int, events: list[tuple[str, object]]
) -> None:
    replay = PolicyReplay(capacity)
    newest = {policy_id: deque[int](maxlen=capacity) for policy_id in "ab"}
    for policy_id, event in events:
        if event == "forget":
            replay.forget(policy_id)
            newest[policy_id].clear()
        elif event == "reload":
            replay = come_back(kept(replay), capacity)
        else:
            assert isinstance(event, list)
            replay.extend(policy_id, frames(*event))
            newest[policy_id].extend(event)
        for one, versions in newest.items():
            assert replay.weights_versions(one) == Counter(versions)


def test_frames_that_do_not_say_their_version_are_not_counted() -> None:
    replay = PolicyReplay()
    assert replay.weights_versions("a") == {}
    replay.extend("a", TensorDict({"x": torch.zeros(3)}, [3]))
    assert replay.weights_versions("a") == {}
    assert replay.size("a") == 3


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32])
@pytest.mark.parametrize("shape", [[4], [4, 1]])
def test_versions_of_any_type_and_shape_are_counted(dtype: torch.dtype, shape: list[int]) -> None:
    """A user's function splits the frames and may convert them."""
    made = TensorDict({"x": torch.zeros(4)}, [4])
    made[VERSION_KEY] = torch.tensor([1, 1, 2, 1], dtype=dtype).reshape(shape)
    replay = PolicyReplay()
    replay.extend("a", made)
    assert replay.weights_versions("a") == {1: 3, 2: 1}


def kept(replay: PolicyReplay) -> bytes:
    out = io.BytesIO()
    torch.save(replay.state_dict(), out)
    return out.getvalue()


def come_back(state: bytes, capacity: int) -> PolicyReplay:
    replay = PolicyReplay(capacity)
    replay.load_state_dict(torch.load(io.BytesIO(state), weights_only=False))
    return replay


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The places in the ring that each write fills."""
    written: list[list[int]] = []
    write = LazyTensorStorage.set

    def recorded(storage: LazyTensorStorage, cursor: torch.Tensor, *args: Any, **options: Any) -> None:
        written.append(cursor.tolist())
        write(storage, cursor, *args, **options)

    monkeypatch.setattr(LazyTensorStorage, "set", recorded)
    return written


@pytest.mark.parametrize("earlier", [1, 2, 4])
def test_a_write_of_more_frames_than_the_ring_has_places_fills_each_place_once(
    places: list[list[int]], earlier: int
) -> None:
    replay = PolicyReplay(capacity=4)
    replay.extend("a", frames(*range(100, 100 + earlier)))
    assert replay.extend("a", frames(*range(11))) == 4
    assert [len(set(write)) for write in places] == [len(write) for write in places]
    assert in_order(replay) == [7, 8, 9, 10]
    replay.extend("a", frames(11))
    assert in_order(replay) == [8, 9, 10, 11]


def test_a_part_of_a_checkpoint_that_is_larger_than_the_ring_fills_each_place_once(places: list[list[int]]) -> None:
    before = PolicyReplay(capacity=100)
    before.extend("a", frames(*range(100)))
    after = come_back(kept(before), 4)
    assert [len(set(write)) for write in places] == [len(write) for write in places]
    assert in_order(after) == [96, 97, 98, 99]


def in_order(replay: PolicyReplay) -> list[int]:
    """The versions of the frames of policy ``a``, the oldest first."""
    return [int(version) for part in replay.state_dict()["a"] for version in part[VERSION_KEY]]


def filled(capacity: int, *versions: int) -> PolicyReplay:
    """One frame after the other, so that a full ring is written round."""
    replay = PolicyReplay(capacity)
    for version in versions:
        replay.extend("a", frames(version))
    return replay


@pytest.mark.parametrize("written", [1, 3, 4, 5, 6, 7, 8, 9], ids="{} frames in 4".format)
def test_frames_come_back_and_the_oldest_leave_first_wherever_the_ring_begins(written: int) -> None:
    before = filled(4, *range(written))
    after = come_back(kept(before), 4)
    assert after.weights_versions("a") == before.weights_versions("a")
    for version in (100, 101):
        for replay in (before, after):
            replay.extend("a", frames(version))
        assert after.weights_versions("a") == before.weights_versions("a")
    assert set(after.sample("a", 32)["x"].shape) == {32}


def test_of_a_larger_ring_the_newest_frames_come_back() -> None:
    assert come_back(kept(filled(8, *range(11))), 4).weights_versions("a") == {7: 1, 8: 1, 9: 1, 10: 1}
    assert come_back(kept(filled(4, *range(6))), 8).weights_versions("a") == {2: 1, 3: 1, 4: 1, 5: 1}


def test_a_checkpoint_is_as_large_as_the_frames_that_there_are() -> None:
    replay, half_kib = PolicyReplay(capacity=10_000), torch.zeros(500, 128)
    replay.extend("a", TensorDict({"x": half_kib, "by": {"half": half_kib.bfloat16()}}, [500]))
    frames_bytes = 500 * (512 + 256)
    assert frames_bytes < len(kept(replay)) < 1.3 * frames_bytes


def test_frames_are_kept_without_a_copy_and_read_back_part_by_part() -> None:
    replay = filled(64, *range(64))
    (parts,) = replay.state_dict().values()
    assert len(parts) == 16
    parts[0]["x"] += 1
    assert replay.sample("a", 4096)["x"].sum() > 0
    other = PolicyReplay(64)
    other.load_state_dict({"a": parts})
    assert parts == []
    assert other.size("a") == 64
