"""Whatever happens in whatever order, a gather keeps its promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.collectorfleet.gather.world import join

from collectorfleet.gather.state.admissions import Admission
from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import DEPTH, Plan
from collectorfleet.messages import Answer, CollectorId, Request
from collectorfleet_api.v1alpha1 import CollectorState

FRAMES = 10


SHARE_BYTES = 100


class AnyOrder(RuleBasedStateMachine):
    """Collectors start, answer and die, the consumer asks, trains and publishes, in any order."""

    # What decides most, so each kind has examples of its own.
    in_order: bool
    bounds: st.SearchStrategy[int | None]

    @initialize(
        data=st.data(),
        shares=st.integers(1, 3),
        total=st.none() | st.integers(1, 300),
        exact=st.booleans(),
        random_frames=st.sampled_from([0, 35]),
        cut_short_after=st.none() | st.integers(1, 2),
        store_bytes=st.none() | st.integers(50, 400),
        mixes=st.booleans(),
        collectors=st.integers(0, 3),
    )
    def begin(
        self, data: st.DataObject, shares: int, total: int | None, *, mixes: bool, collectors: int, **more: Any
    ) -> None:
        # Its trajectories span updates: it answers with older versions than it was asked for.
        self.mixes = mixes
        if mixes:
            more["exact"] = False
        if not self.in_order:
            more |= {"exact": False, "cut_short_after": None}
        self.gather = Gather(Plan(shares, FRAMES, self.in_order, data.draw(self.bounds), total, **more))
        self.gather.version = 1
        self.gather.begun = True
        self.requests: dict[int, Request] = {}
        self.random_frames = 0
        self.incarnations = 0
        self.collected = self.handed_out = self.now = 0
        # Of shares that were admitted before anybody knew how large one is.
        self.bytes_at_first = 0
        for index in range(collectors):
            self.a_collector_joins(f"c{index}")

    @rule(name=st.sampled_from(["c0", "c1", "c2"]))
    def a_collector_joins(self, name: str) -> None:
        if name not in self.gather.collectors:
            self.incarnations += 1
            join(self.gather, CollectorId(name, self.incarnations), self.gather.version, self.now)

    @precondition(lambda self: len(self.gather.collectors))
    @rule(data=st.data())
    def a_collector_applies_the_newest_version(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(list(self.gather.collectors)))
        self.gather.collectors.applied(one, self.gather.version, self.now)

    @precondition(lambda self: len(self.gather.collectors))
    @rule(data=st.data(), draining=st.booleans())
    def a_collector_drains_or_does_not_after_all(self, data: st.DataObject, draining: bool) -> None:
        one = data.draw(st.sampled_from(list(self.gather.collectors)))
        self.gather.collectors.drain(one.id.name, draining=draining)

    @precondition(lambda self: len(self.gather.collectors))
    @rule(data=st.data())
    def a_collector_is_lost(self, data: st.DataObject) -> None:
        self.gather.retired(data.draw(st.sampled_from(list(self.gather.collectors))))

    @precondition(lambda self: any(one.in_flight for one in self.gather.collectors))
    @rule(data=st.data(), readable=st.booleans())
    def a_request_is_answered(self, data: st.DataObject, readable: bool) -> None:
        member = data.draw(st.sampled_from([one for one in self.gather.collectors if one.in_flight]))
        self.answer(member, data, readable=readable)

    @rule(data=st.data())
    def everybody_answers_what_a_batch_takes(self, data: st.DataObject) -> None:
        self.gather.paused = False
        for one in self.gather.collectors:
            self.gather.collectors.drain(one.id.name, draining=False)
        self.the_consumer_publishes()
        self.the_consumer_asks()
        self.the_gather_thread_turns()
        for member in self.gather.collectors:
            while member.in_flight:
                self.answer(member, data)
        self.the_gather_thread_turns()

    def answer(self, member: Collector, data: st.DataObject, *, readable: bool = True) -> None:
        request = member.in_flight[0]
        self.now += 1
        if not readable:
            self.gather.answer_lost(member, request, self.now)
            return
        # A collector runs with the weights of the request or newer ones.
        asked = self.requests[request]
        newest = asked.min_version if asked.version is not None else self.gather.version
        version = data.draw(st.integers(max(0, asked.min_version - 5 * self.mixes), newest))
        frames = data.draw(st.integers(1, FRAMES)) if request in self.cut_short else FRAMES
        answer = Answer(member.id, request, "data", frames, version, 1.0, SHARE_BYTES)
        self.gather.answered(member, answer, self.now)
        self.collected += frames

    @rule(shares=st.integers(1, 3))
    def the_fleet_is_resized(self, shares: int) -> None:
        if self.gather.plan.in_order:
            self.gather.plan = replace(self.gather.plan, shares=shares)

    @rule(paused=st.booleans())
    def the_gather_is_paused_or_goes_on(self, paused: bool) -> None:
        self.gather.paused = paused

    @rule()
    def the_consumer_asks(self) -> None:
        self.gather.is_batch_wanted = not self.gather.finished

    @rule()
    def the_consumer_publishes(self) -> None:
        # Else the gather thread holds it back until a batch was handed out.
        if self.gather.may_advance():
            self.gather.version += 1

    @rule()
    def the_gather_thread_turns(self) -> None:
        self.submit()
        chosen = self.gather.due() if self.gather.is_batch_wanted else None
        if chosen is not None:
            plan = self.gather.plan
            batch = self.gather.hand_out(chosen)
            self.handed_out += batch.frames
            assert batch.staleness >= 0
            assert self.mixes or plan.bound is None or batch.staleness <= plan.bound
            asked = self.gather.version - min(share.admission.version_for_bound for share in batch.shares)
            assert plan.bound is None or asked <= plan.bound
            assert all(share.done for share in batch.shares)
            assert plan.in_order or len(batch.shares) == plan.shares
            if plan.exact:
                assert len({share.version for share in batch.shares}) == 1
        self.submit()

    cut_short: set[int]

    def submit(self) -> None:
        self.cut_short = getattr(self, "cut_short", set())
        for member, request in self.gather.submissions(self.now):
            assert not self.gather.paused
            assert member.state is CollectorState.READY
            assert not member.draining
            assert self.gather.collectors.find(member.id) is member
            assert request.version is None or request.version >= self.gather.oldest_needed
            self.requests[request.id] = request
        if not self.collected:
            self.bytes_at_first = self.bytes_to_be_there
        for member, request_id in self.gather.stragglers():
            assert request_id in member.in_flight
            assert request_id not in self.cut_short  # each is told once
            self.cut_short.add(request_id)

    @invariant()
    def frames_are_conserved(self) -> None:
        if not hasattr(self, "gather"):
            return
        assert self.collected == self.handed_out + self.gather.admissions.frames_waiting

    @invariant()
    def no_collector_has_more_than_it_can_hold_and_no_request_is_beyond_the_total(self) -> None:
        if not hasattr(self, "gather"):
            return
        assert all(len(one.in_flight) <= DEPTH for one in self.gather.collectors)
        plan = self.gather.plan
        if plan.total_frames is not None:
            under_way = self.gather.admissions.frames
            # A last batch may have been begun while the fleet, and so the batch, was larger.
            assert self.handed_out + under_way < plan.total_frames + 3 * FRAMES

    @invariant()
    def a_slow_consumer_does_not_fill_the_store(self) -> None:
        if not hasattr(self, "gather") or self.gather.plan.store_bytes is None:
            return
        # One batch is gathered in any case; a fleet that is resized has batches of up to three shares.
        assert self.bytes_to_be_there <= max(self.gather.plan.store_bytes, 3 * SHARE_BYTES, self.bytes_at_first)

    @property
    def bytes_to_be_there(self) -> int:
        """Once everything under way is answered."""
        return self.gather.admissions.waiting_bytes + self.gather.admissions.shares_missing * SHARE_BYTES

    @invariant()
    def every_share_is_waiting_in_flight_or_done(self) -> None:
        if not hasattr(self, "gather"):
            return
        for admission in self.gather.admissions:
            for share in admission.shares:
                held = sum(share.request_id in one.in_flight for one in self.gather.collectors)
                assert share.done or held == (share.request_id is not None)

    @invariant()
    def what_is_kept_is_what_counting_anew_would_find(self) -> None:
        if not hasattr(self, "gather"):
            return
        collectors, admissions = self.gather.collectors, self.gather.admissions
        ready = [one for one in collectors if one.state is CollectorState.READY]
        assert collectors.available == len(ready)
        assert collectors.busy == sum(bool(one.in_flight) for one in collectors)
        assert collectors.acknowledged == min((one.applied_version or 0 for one in ready), default=None)
        shares = [share for admission in admissions for share in admission.shares]
        assert admissions.frames == sum(share.frames for share in shares)
        assert admissions.frames_waiting == sum(share.frames for share in shares if share.done)
        assert admissions.waiting_bytes == sum(share.size_bytes for share in shares)
        assert admissions.shares_missing == sum(not share.done for share in shares)
        assert admissions.completed == sum(admission.complete for admission in admissions)
        assert all(admission.oldest_version == oldest(admission) for admission in admissions)
        free = [one for one in ready if not one.draining and len(one.in_flight) < DEPTH]
        assert (collectors.next_free(admissions.next_number) is None) == (not free)
        least = min((len(one.in_flight) for one in free), default=None)
        found = collectors.next_free(admissions.next_number)
        assert found is None or len(found.in_flight) == least

    @invariant()
    def who_works_longest_is_found(self) -> None:
        if not hasattr(self, "gather"):
            return
        collectors = self.gather.collectors
        since = [one.working_since for one in collectors if one.working_since is not None]
        found = [collectors.longest_at_work(None, first=first) for first in (True, False)]
        assert min((one.working_since or 0 for one in found if one), default=None) == min(since, default=None)


def oldest(admission: Admission) -> int:
    return min(admission.version if share.version is None else share.version for share in admission.shares)


class SyncInAnyOrder(AnyOrder):
    in_order, bounds = True, st.integers(0, 3)


class AsyncInAnyOrder(AnyOrder):
    in_order, bounds = False, st.integers(1, 3)


class UnboundedInAnyOrder(AnyOrder):
    in_order, bounds = False, st.none()


TestSync, TestAsync, TestUnbounded = SyncInAnyOrder.TestCase, AsyncInAnyOrder.TestCase, UnboundedInAnyOrder.TestCase
TestSync.settings = TestAsync.settings = TestUnbounded.settings = settings(max_examples=60, stateful_step_count=60)
