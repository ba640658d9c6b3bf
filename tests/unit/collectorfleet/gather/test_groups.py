"""A gather of two groups: each has its own deadlines, replacements and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played

from collectorfleet.errors import UserCodeError
from collectorfleet.fleet.report import report
from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.scaling import Placed
from collectorfleet_api.v1alpha1 import GroupCounts

MINUTE = timedelta(minutes=1)


def two_groups() -> Played:
    """One collector of each group at work; any request may take a minute."""
    fleet = Played(
        Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None),
        collectors=2,
        limits=Limits(MINUTE, MINUTE, 100 * MINUTE, min_available=1),
        groups=["fast", "slow"],
    )
    fleet.consumer.stage("weights")
    fleet.turn()
    for name in ("c0", "c1"):
        fleet.world.build(fleet.remote(name))
    fleet.turn()
    for name in ("c0", "c1"):
        fleet.world.load(fleet.remote(name))
    fleet.turn()
    assert fleet.consumer.request_batch()
    fleet.turn()
    return fleet


def test_deadlines_are_learned_for_each_group() -> None:
    fleet = two_groups()
    # A rollout of the slow group takes 50 s, those of the fast one no time.
    fleet.world.answer(fleet.remote("c0"))
    fleet.turn(50)
    fleet.world.answer(fleet.remote("c1"), seconds=50.0)
    fleet.turn()
    incarnations = {name: fleet.remote(name).id for name in ("c0", "c1")}
    fleet.turn(70)
    fleet.turn()
    # The fast one is hung after a minute, the slow one may take five times what it took.
    slots = fleet.shared.slots.by_name
    assert "no batch within 60 s" in (slots["c0"].last_error or "")
    assert slots["c1"].last_error is None
    assert fleet.remote("c1").id == incarnations["c1"]
    # What takes its place is of the same group.
    replaced = fleet.gather.collectors.named("c0")
    assert replaced is not None
    assert replaced.id != incarnations["c0"]
    assert replaced.group == "fast"


def test_the_report_has_the_numbers_of_each_group() -> None:
    fleet = two_groups()
    fleet.consumer.resize(3)
    fleet.turn()
    found = report(fleet.shared, 0.0, "ObjectStore")
    assert found.progress is not None
    counts = found.progress.collectors
    assert counts is not None
    assert counts.groups == [
        GroupCounts(name="fast", desired=2, available=1),
        GroupCounts(name="slow", desired=1, available=1),
    ]
    assert counts.groups_summary == "fast 1/2, slow 1/1"
    assert {row.name: row.group for row in found.collectors} == {"c0": "fast", "c1": "slow", "c2": "fast"}


class LeavesFastOnly:
    """A user's policy that fails for the group ``slow``."""

    def leaving(self, collectors: Sequence[Placed], count: int) -> Sequence[str]:
        return [one.name for one in collectors if one.index % 2 == 0][:count]


def test_a_scaling_policy_that_fails_for_one_group_changes_nothing_and_ends_the_run() -> None:
    fleet = two_groups()
    fleet.consumer.resize(4)
    consumer = Consumer(fleet.shared, fleet.world, LeavesFastOnly())
    said = r"^scaling_policy: ValueError: leaving\(\) returned 0 values, which name 0 of 2 collectors; return 1 "
    with pytest.raises(UserCodeError, match=said):
        consumer.resize(2, min_available=2)
    slots = fleet.shared.slots
    assert (slots.desired, list(slots.leaving), fleet.shared.limits.min_available) == (4, [], 1)
    with pytest.raises(UserCodeError, match=said):
        consumer.next()
