"""Which tensors of a module are taken, under which names and in which dtype."""

from __future__ import annotations

from collections import OrderedDict

import pytest
import torch
from torch import nn

from collectorfleet.codec import snapshot as snapshots


class Shared(nn.Module):
    """Two layers with one weight, and two buffers of which one is in no state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("scratch", torch.ones(1), persistent=False)


def test_a_shared_tensor_is_taken_once_under_its_first_name() -> None:
    assert list(snapshots.tensors_of(Shared())) == ["first.weight", "first.bias", "second.bias", "mean", "scratch"]


def test_a_shared_tensor_is_taken_under_its_first_name_that_is_preferred() -> None:
    found = snapshots.tensors_of(Shared(), lambda name: name.startswith("second"))
    assert list(found) == ["first.bias", "second.weight", "second.bias", "mean", "scratch"]
    both = snapshots.tensors_of(Shared(), lambda name: "weight" in name)
    assert next(iter(both)) == "first.weight"
    neither = snapshots.tensors_of(Shared(), lambda _: False)
    assert next(iter(neither)) == "first.weight"


class SharedBuffers(nn.Module):
    """The same module under two names, with a buffer that is in no state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.first = self.second = nn.Module()
        self.first.register_buffer("scratch", torch.ones(1), persistent=False)


def test_buffers_of_a_module_with_two_names_have_both() -> None:
    assert list(snapshots.by_every_name(SharedBuffers())) == ["first.scratch", "second.scratch"]
    assert list(snapshots.tensors_of(SharedBuffers(), lambda name: name.startswith("second"))) == ["second.scratch"]
    assert snapshots.not_in_state_dicts(SharedBuffers()) == {"first.scratch", "second.scratch"}


def test_each_name_of_a_shared_tensor_can_be_had() -> None:
    found = snapshots.by_every_name(Shared())
    assert list(found) == ["first.weight", "first.bias", "second.weight", "second.bias", "mean", "scratch"]
    assert found["first.weight"].data_ptr() == found["second.weight"].data_ptr()


def test_buffers_that_a_state_dict_leaves_out_are_named_with_their_path() -> None:
    module = nn.Sequential(OrderedDict(inner=Shared()))
    assert snapshots.not_in_state_dicts(module) == {"inner.scratch"}
    assert snapshots.not_in_state_dicts(Shared()) == {"scratch"}


def test_tensors_are_taken_without_their_graph() -> None:
    assert not any(tensor.requires_grad for tensor in snapshots.tensors_of(Shared()).values())


TENSORS = {"net.a": torch.full((2,), 1.5), "net.b": torch.arange(3), "head": torch.zeros(1, dtype=torch.float16)}


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        pytest.param(None, ["net.a", "net.b", "head"], id="all"),
        pytest.param(["net."], ["net.a", "net.b"], id="a beginning"),
        pytest.param("head", ["head"], id="one string is one beginning"),
        pytest.param(["head", "net.b"], ["net.b", "head"], id="two beginnings"),
        pytest.param(lambda name: name.endswith("a"), ["net.a"], id="a callable"),
        pytest.param([], [], id="none"),
    ],
)
def test_what_is_included_is_taken_and_a_part_is_not_whole(names: object, taken: list[str]) -> None:
    found = snapshots.take(TENSORS, names=names)  # type: ignore[arg-type]
    assert [entry.name for entry in found.entries] == taken
    assert found.whole == (len(taken) == len(TENSORS))
    assert len(found.arrays) == len(taken)


def test_all_of_a_part_is_not_whole_either() -> None:
    assert snapshots.take(TENSORS).whole
    assert not snapshots.take(TENSORS, whole=False).whole


@pytest.mark.parametrize(
    ("dtype", "travels"),
    [
        pytest.param(None, [torch.float32, torch.int64, torch.float16], id="as they are"),
        pytest.param(torch.bfloat16, [torch.bfloat16, torch.int64, torch.float16], id="smaller"),
        pytest.param(torch.float16, [torch.float16, torch.int64, torch.float16], id="as small as one of them"),
        pytest.param(torch.float64, [torch.float32, torch.int64, torch.float16], id="larger"),
    ],
)
def test_floating_tensors_are_cast_to_a_smaller_dtype(dtype: torch.dtype | None, travels: list[torch.dtype]) -> None:
    found = snapshots.take(TENSORS, dtype=dtype)
    assert [entry.dtype for entry in found.entries] == travels
    assert found.size_bytes == sum(
        entry.dtype.itemsize * tensor.numel() for entry, tensor in zip(found.entries, TENSORS.values(), strict=True)
    )
    assert snapshots.tensors_by_name(found)["net.a"].tolist() == [1.5, 1.5]


def test_a_tensor_that_the_collectors_would_round_is_named_with_both_dtypes() -> None:
    assert snapshots.rounding("net.a", torch.float16, torch.float32) is None
    assert snapshots.rounding("net.a", torch.float32, torch.float16) == (
        "weights: net.a is published as torch.float32, but the collectors' policy would round it to torch.float16; "
        "publish net.a as torch.float16, or build the policy with torch.float32"
    )


def test_a_copy_does_not_change_with_the_tensors_and_what_was_taken_does() -> None:
    weight = torch.zeros(2)
    taken = snapshots.take({"w": weight})
    copied, read = snapshots.copied(taken), snapshots.tensors_by_name(taken)
    weight += 1
    assert snapshots.tensors_by_name(taken)["w"].tolist() == [1.0, 1.0]
    assert snapshots.tensors_by_name(copied)["w"].tolist() == [0.0, 0.0]
    assert read["w"].tolist() == [0.0, 0.0]
    assert (copied.entries, copied.whole) == (taken.entries, taken.whole)


def test_a_digest_depends_on_all_bytes_and_their_order() -> None:
    first, second = (snapshots.take({"w": torch.tensor([value])}).arrays[0] for value in (1.0, 2.0))
    digests = {snapshots.digest(arrays) for arrays in ([first], [second], [first, second], [second, first], [])}
    assert len(digests) == 5
    assert all(digest.startswith("xxh3:") for digest in digests)
    assert snapshots.digest([first]) == snapshots.digest([first.copy()])


def test_a_snapshot_is_whole_and_counts_no_versions_unless_it_says_so() -> None:
    made = snapshots.Snapshot((), [])
    assert (made.whole, made.policy_version) == (True, None)
    assert (snapshots.EMPTY_SNAPSHOT.entries, snapshots.EMPTY_SNAPSHOT.arrays, snapshots.EMPTY_SNAPSHOT.whole) == (
        (),
        [],
        False,
    )
