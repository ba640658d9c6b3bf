"""How shares, admissions and batches go together."""

from __future__ import annotations

from dataclasses import replace

from collectorfleet.gather.state.plan import Plan

SYNC = Plan(shares=3, frames_per_share=10, in_order=True, bound=0, total_frames=None)


def test_a_batch_has_the_frames_of_its_shares() -> None:
    assert SYNC.frames_per_batch == 30


def test_in_order_a_batch_is_requested_as_a_whole_and_else_share_by_share() -> None:
    free = replace(SYNC, in_order=False)
    assert (SYNC.shares_per_admission, SYNC.admissions_per_batch) == (3, 1)
    assert (free.shares_per_admission, free.admissions_per_batch) == (1, 3)
