"""Whatever happens in whatever order, a gather keeps its promises."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from collectorfleet.gather.state import DEPTH, Gather, Life, Plan
from collectorfleet.transport.base import Address

FRAMES = 10


@dataclass(frozen=True)
class Rollout:
    """What travels in place of data."""

    frames: int = FRAMES


class AnyOrder(RuleBasedStateMachine):
    """Collectors start, answer and die, the consumer asks, trains and publishes, in any order."""

    @initialize(
        shares=st.integers(1, 3),
        in_order=st.booleans(),
        bound=st.none() | st.integers(1, 3),
        total=st.none() | st.integers(1, 300),
    )
    def begin(self, shares: int, in_order: bool, bound: int | None, total: int | None) -> None:
        plan = Plan(shares if in_order else 1, FRAMES, in_order, (bound or 0) if in_order else bound, total)
        self.gather = Gather(plan)
        self.gather.version = 1
        self.lives = 0
        self.collected = self.handed_out = self.now = 0
        self.asks_of_batches: list[int] = []

    @rule(name=st.sampled_from(["c0", "c1", "c2"]))
    def a_collector_joins(self, name: str) -> None:
        if name not in self.gather.members:
            self.lives += 1
            address = Address(name, self.lives)
            self.gather.starting(address, self.now)
            member = self.gather.member(address)
            assert member is not None
            self.gather.applied(member, self.gather.version)

    @precondition(lambda self: self.gather.members)
    @rule(data=st.data())
    def a_collector_is_lost(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.gather.members)))
        self.gather.retired(self.gather.members[name])

    @precondition(lambda self: any(m.in_flight for m in self.gather.members.values()))
    @rule(data=st.data(), readable=st.booleans())
    def a_request_is_answered(self, data: st.DataObject, readable: bool) -> None:
        busy = sorted(name for name, member in self.gather.members.items() if member.in_flight)
        member = self.gather.members[data.draw(st.sampled_from(busy))]
        request = member.in_flight[0]
        self.now += 1
        if not readable:
            self.gather.answer_lost(member, request, self.now)
            return
        # A collector runs with the weights of the request or newer ones.
        version = data.draw(st.integers(self.versions[request], self.gather.version))
        self.gather.answered(member, request, Rollout(), version, self.now)
        self.collected += FRAMES

    @rule()
    def the_consumer_asks(self) -> None:
        self.gather.asked = not self.gather.finished

    @rule()
    def the_consumer_publishes(self) -> None:
        # The gather thread holds a second version back until a batch was handed out.
        if not self.gather.asked and (self.gather.plan.bound is None or not self.gather.advanced):
            self.gather.version += 1
            self.gather.advanced = True

    @rule()
    def the_gather_thread_turns(self) -> None:
        self.submit()
        batch = self.gather.due() if self.gather.asked else None
        if batch is not None:
            staleness = self.gather.handed_out(batch, len(batch.shares) * FRAMES)
            self.handed_out += len(batch.shares) * FRAMES
            bound = self.gather.plan.bound
            assert staleness >= 0
            assert bound is None or staleness <= bound
            assert batch.complete
        self.submit()

    versions: dict[int, int]

    def submit(self) -> None:
        self.versions = getattr(self, "versions", {})
        for member, request in self.gather.submissions(self.now):
            assert member.life is Life.READY
            assert self.gather.members[member.address.name] is member
            self.versions[request.id] = request.min_version

    @invariant()
    def frames_are_conserved(self) -> None:
        if not hasattr(self, "gather"):
            return
        waiting = sum(share.done for batch in self.gather.batches.values() for share in batch.shares) * FRAMES
        assert self.collected == self.handed_out + waiting

    @invariant()
    def no_collector_has_more_than_it_can_hold_and_no_request_is_beyond_the_total(self) -> None:
        if not hasattr(self, "gather"):
            return
        assert all(len(member.in_flight) <= DEPTH for member in self.gather.members.values())
        plan = self.gather.plan
        if plan.total_frames is not None:
            under_way = len(self.gather.batches) * plan.frames_per_batch
            assert self.handed_out + under_way < plan.total_frames + plan.frames_per_batch

    @invariant()
    def every_share_is_waiting_in_flight_or_done(self) -> None:
        if not hasattr(self, "gather"):
            return
        for batch in self.gather.batches.values():
            for share in batch.shares:
                held = sum(share.request_id in member.in_flight for member in self.gather.members.values())
                assert share.done or held == (share.request_id is not None)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


def test_sync_without_look_ahead_waits_for_the_consumer() -> None:
    gather = Gather(Plan(shares=1, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None))
    gather.version = 1
    address = Address("c0", 1)
    gather.starting(address, 0.0)
    member = gather.member(address)
    assert member is not None
    gather.applied(member, 1)
    assert list(gather.submissions(0.0)) == []  # the consumer may still publish
    gather.asked = True
    assert len(list(gather.submissions(0.0))) == 1


def test_an_unbounded_fleet_keeps_two_requests_at_every_collector() -> None:
    gather = Gather(Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None))
    for index in range(3):
        address = Address(f"c{index}", index + 1)
        gather.starting(address, 0.0)
        member = gather.member(address)
        assert member is not None
        gather.applied(member, 1)
    sent = [member.address.name for member, _ in gather.submissions(0.0)]
    assert sent[:3] == ["c0", "c1", "c2"]  # idle ones first
    assert sorted(sent) == ["c0", "c0", "c1", "c1", "c2", "c2"]
