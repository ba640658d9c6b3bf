"""An hour of a fleet that nobody looks at: what it keeps of the past is as large at the end as it was in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet.gather.world import FRAMES, Played, World

from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan

DAY = timedelta(days=1)
ON_POLICY = Plan(shares=2, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None)
# Longest of what is remembered on purpose: digests of 256 versions, of which there is one every few seconds.
QUARTER_SECONDS, HOUR_SECONDS = 900, 3600
# Requests that happen to be under way, and a collector that happens to be replaced.
MOMENTARY = 40


class Fleet(Played):
    """Three collectors that answer once a second to a consumer that trains; one of them dies every five minutes."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, collectors=3, limits=Limits(DAY, DAY, DAY, min_available=1))
        self.consumer.stage("weights")

    def second(self, number: int) -> None:
        self.turn(seconds=1)
        for remote in list(self.world.alive.values()):
            if not remote.built:
                self.world.build(remote)
            elif remote.offered > remote.acknowledged:
                self.world.load(remote)
            if remote.requests:
                self.world.answer(remote)
        if number % 300 == 299:
            self.world.die(next(iter(self.world.alive.values())))
        with self.shared.changed:
            if self.shared.due:
                self.consumer.take_batch()
                self.consumer.stage("weights")
            self.consumer.request_batch()

    def kept(self) -> int:
        """Entries of all containers that the fleet keeps, whatever keeps them."""
        seen: set[int] = set()
        left: list[Any] = [self.shared, self.loop, self.consumer]
        count = 0
        while left:
            one = left.pop()
            if id(one) in seen or isinstance(one, World):
                continue
            seen.add(id(one))
            found = _inside(one)
            count += len(found)
            left += found
        return count


def _inside(one: Any) -> list[Any]:
    if isinstance(one, Mapping):
        return [*one.keys(), *one.values()]
    if hasattr(one, "__iter__") and hasattr(one, "__len__") and not isinstance(one, str | bytes):
        found = list(one)
        return found + _attributes(one) if _is_ours(one) else found
    return _attributes(one) if _is_ours(one) else []


def _is_ours(one: Any) -> bool:
    return type(one).__module__.startswith("collectorfleet.")


def _attributes(one: Any) -> list[Any]:
    slots = [getattr(one, name) for name in getattr(type(one), "__slots__", ()) if hasattr(one, name)]
    return [*slots, *getattr(one, "__dict__", {}).values()]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(ON_POLICY, id="on-policy"),
        pytest.param(replace(ON_POLICY, bound=1, exact=True), id="one step behind"),
        pytest.param(replace(ON_POLICY, cut_short_after=1, random_frames=100), id="cut short"),
        pytest.param(replace(ON_POLICY, in_order=False, bound=2), id="first shares"),
        pytest.param(replace(ON_POLICY, shares=1, in_order=False, bound=None), id="unbounded"),
    ],
)
def test_what_is_kept_of_an_hour_is_no_more_than_what_was_kept_of_its_first_quarter(plan: Plan) -> None:
    fleet = Fleet(plan)
    for number in range(QUARTER_SECONDS):
        fleet.second(number)
    kept, batches = fleet.kept(), fleet.shared.statistics.batches
    assert batches > 256
    for number in range(QUARTER_SECONDS, HOUR_SECONDS):
        fleet.second(number)
    assert fleet.shared.statistics.batches > 3 * batches
    assert fleet.shared.slots.restarts >= 10
    assert fleet.kept() <= kept + MOMENTARY
