"""Each frame says the version that made it, and a trajectory that no other incarnation has."""

from __future__ import annotations

import torch

from collectorfleet.codec.frames import Part, distinct_trajectories, versions_of
from collectorfleet.codec.tensors import Encoded
from collectorfleet.messages import Segment


def test_each_frame_has_the_version_that_acted_from_its_step_on() -> None:
    segments = [Segment(0, 3), Segment(2, 7), Segment(3, 9)]
    assert versions_of(segments, torch.Size([2, 5])).tolist() == [[3, 3, 7, 9, 9]] * 2
    assert versions_of(segments[:1], torch.Size([4])).tolist() == [3] * 4


def test_versions_are_whole_numbers_of_64_bits() -> None:
    newest = 2**40
    found = versions_of([Segment(0, newest)], torch.Size([1]))
    assert (found.dtype, found.item()) == (torch.int64, newest)


def test_equal_trajectories_of_two_incarnations_have_different_ids() -> None:
    ids = torch.tensor([0, 1, 5], dtype=torch.int32)
    first, second = distinct_trajectories(ids, 1), distinct_trajectories(ids, 2)
    assert not {*first.tolist()} & {*second.tolist()}
    assert (first >> 32).tolist() == [1, 1, 1]
    assert (second >> 32).tolist() == [2, 2, 2]
    assert (second - (2 << 32)).tolist() == [0, 1, 5]


def test_a_part_is_printed_without_its_arrays_and_has_the_same_sizes_each_time_unless_it_says_so() -> None:
    part = Part(Encoded(None, []), None, incarnation=3)
    assert repr(part) == "Part(segments=None, incarnation=3, parameters=None, varies=False)"


def test_a_frame_of_no_trajectory_has_the_same_id_in_each_incarnation() -> None:
    assert distinct_trajectories(torch.tensor([-1, 0]), 3).tolist() == [-1, 3 << 32]
