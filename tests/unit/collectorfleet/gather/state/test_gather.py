"""Whatever happens in whatever order, a gather keeps its promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from collectorfleet.gather.state.admissions import Admission
from collectorfleet.gather.state.collectors import Collector
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import DEPTH, Plan
from collectorfleet.messages import Answer, CollectorId, Request
from collectorfleet_api.v1alpha1 import CollectorState

FRAMES = 10


SHARE_BYTES = 100


class AnyOrder(RuleBasedStateMachine):
    """Collectors start, answer and die, the consumer asks, trains and publishes, in any order."""

    @initialize(
        shares=st.integers(1, 3),
        in_order=st.booleans(),
        bound=st.none() | st.integers(1, 3),
        total=st.none() | st.integers(1, 300),
        exact=st.booleans(),
        random_frames=st.sampled_from([0, 35]),
        cut_short_after=st.none() | st.integers(1, 2),
        store_bytes=st.none() | st.integers(50, 500),
    )
    def begin(self, shares: int, in_order: bool, bound: int | None, total: int | None, **more: Any) -> None:
        if not in_order:
            more |= {"exact": False, "cut_short_after": None}
        self.gather = Gather(Plan(shares, FRAMES, in_order, (bound or 0) if in_order else bound, total, **more))
        self.gather.version = 1
        self.gather.begun = True
        self.requests: dict[int, Request] = {}
        self.random_frames = 0
        self.incarnations = 0
        self.collected = self.handed_out = self.now = 0
        self.asks_of_batches: list[int] = []

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
        request = member.in_flight[0]
        self.now += 1
        if not readable:
            self.gather.answer_lost(member, request, self.now)
            return
        # A collector runs with the weights of the request or newer ones.
        asked = self.requests[request]
        newest = asked.min_version if asked.version is not None else self.gather.version
        version = data.draw(st.integers(asked.min_version, newest))
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
        self.gather.asked = not self.gather.finished

    @rule()
    def the_consumer_publishes(self) -> None:
        # Else the gather thread holds it back until a batch was handed out.
        if self.gather.may_advance():
            self.gather.version += 1

    @rule()
    def the_gather_thread_turns(self) -> None:
        self.submit()
        chosen = self.gather.due() if self.gather.asked else None
        if chosen is not None:
            plan = self.gather.plan
            batch = self.gather.hand_out(chosen)
            self.handed_out += batch.frames
            assert batch.staleness >= 0
            assert plan.bound is None or batch.staleness <= plan.bound
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
        plan = self.gather.plan
        if plan.bound is None and len(self.gather.admissions) > DEPTH * 3:
            waiting = self.gather.admissions.waiting_bytes
            assert waiting <= max(plan.store_bytes, plan.shares * SHARE_BYTES)

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
        found = [collectors.longest_at_work(first=first) for first in (True, False)]
        assert min((one.working_since or 0 for one in found if one), default=None) == min(since, default=None)


def oldest(admission: Admission) -> int:
    return min(admission.version if share.version is None else share.version for share in admission.shares)


def join(gather: Gather, id_: CollectorId, version: int, now: float) -> Collector:
    """A collector that becomes available."""
    gather.collectors.starting(id_, int(id_.name[1:]), now)
    one = gather.collectors.find(id_)
    assert one is not None
    gather.collectors.built(one, "pod", 1)
    gather.collectors.applied(one, version, now)
    return one


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)


def ready(gather: Gather, name: str, version: int = 1) -> Collector:
    return join(gather, CollectorId(name, int(name[1:]) + 1), version, 0.0)


def named(gather: Gather, name: str) -> Collector:
    found = gather.collectors.named(name)
    assert found is not None
    return found


def gather_of(plan: Plan, collectors: int = 1) -> Gather:
    gather = Gather(plan)
    gather.version = 1
    gather.begun = True
    for index in range(collectors):
        ready(gather, f"c{index}")
    return gather


def answer(gather: Gather, name: str, version: int = 1) -> None:
    """The oldest request of a collector is done."""
    member = named(gather, name)
    gather.answered(member, Answer(member.id, member.in_flight[0], "data", FRAMES, version, 1.0), 0.0)


SYNC = Plan(shares=1, frames_per_share=FRAMES, in_order=True, bound=0, total_frames=None)
ASYNC = Plan(shares=1, frames_per_share=FRAMES, in_order=False, bound=None, total_frames=None)


def test_nothing_is_collected_before_a_batch_is_asked_for() -> None:
    gather = gather_of(ASYNC)
    gather.begun = False
    assert list(gather.submissions(0.0)) == []


def test_sync_without_look_ahead_waits_for_the_consumer() -> None:
    gather = gather_of(SYNC)
    assert list(gather.submissions(0.0)) == []  # the consumer may still publish
    gather.asked = True
    assert len(list(gather.submissions(0.0))) == 1


def test_an_unbounded_fleet_keeps_two_requests_at_every_collector() -> None:
    gather = gather_of(ASYNC, collectors=3)
    sent = [one.id.name for one, _ in gather.submissions(0.0)]
    assert sent[:3] == ["c0", "c1", "c2"]  # idle ones first
    assert sorted(sent) == ["c0", "c0", "c1", "c1", "c2", "c2"]


def test_an_unbounded_fleet_stops_when_nobody_takes_its_batches() -> None:
    gather = gather_of(ASYNC)
    for _ in range(2):
        list(gather.submissions(0.0))
        answer(gather, "c0")
    assert list(gather.submissions(0.0)) == []


def test_random_frames_are_counted_over_all_collectors() -> None:
    gather = gather_of(replace(ASYNC, random_frames=25), collectors=2)
    assert [request.random for _, request in gather.submissions(0.0)] == [True, True, True, False]


def test_a_fleet_that_starts_gives_each_collector_its_share_but_does_not_wait_for_a_replacement() -> None:
    gather = gather_of(replace(SYNC, shares=2))
    gather.asked = True
    gather.collectors.starting(CollectorId("c1", 2), 1, 0.0)
    assert [one.id.name for one, _ in gather.submissions(1.0)] == ["c0"]
    assert [one.id.name for one, _ in gather.submissions(11.0)] == ["c0"]  # c1 takes too long


def test_the_version_advances_freely_while_nothing_is_under_way_and_once_where_one_batch_is_ahead() -> None:
    gather = gather_of(replace(SYNC, bound=1))
    for _ in range(3):
        assert gather.may_advance()
        gather.version += 1
    gather.asked = True
    list(gather.submissions(0.0))
    assert not gather.may_advance()  # the second batch ahead would be two versions old
    answer(gather, "c0", version=4)
    gather.hand_out(gather.due() or [])
    assert gather.may_advance()
    gather.version += 1
    assert not gather.may_advance()


def test_the_first_shares_make_a_batch_and_the_late_one_goes_into_the_next() -> None:
    gather = gather_of(replace(ASYNC, shares=2, bound=1), collectors=3)
    gather.asked = True
    list(gather.submissions(0.0))
    answer(gather, "c0")
    assert gather.due() is None
    answer(gather, "c2")
    chosen = gather.due()
    assert chosen is not None
    assert gather.hand_out(chosen).frames == 2 * FRAMES
    gather.version, gather.asked = 2, True
    list(gather.submissions(0.0))
    answer(gather, "c1", version=1)  # the straggler
    answer(gather, "c0", version=2)
    chosen = gather.due()
    assert chosen is not None
    assert gather.hand_out(chosen).staleness == 1


def test_exact_staleness_asks_for_the_version_of_the_admission_even_when_a_newer_one_is_out() -> None:
    gather = gather_of(replace(SYNC, shares=2, bound=1, exact=True))
    gather.asked = True
    first = [request for _, request in gather.submissions(0.0)]
    assert [request.version for request in first] == [1, 1]
    gather.version = 2
    answer(gather, "c0")
    assert gather.oldest_needed == 1
    gather.retired(named(gather, "c0"))
    ready(gather, "c1", version=2)
    assert next(request.version for _, request in gather.submissions(0.0)) == 1


def test_once_enough_shares_are_there_the_others_are_cut_short_once() -> None:
    gather = gather_of(replace(SYNC, shares=3, cut_short_after=2), collectors=3)
    gather.asked = True
    list(gather.submissions(0.0))
    answer(gather, "c0")
    assert list(gather.stragglers()) == []
    answer(gather, "c1")
    assert [one.id.name for one, _ in gather.stragglers()] == ["c2"]
    assert list(gather.stragglers()) == []


def test_the_object_store_is_not_filled_beyond_its_budget() -> None:
    gather = gather_of(replace(ASYNC, store_bytes=250), collectors=4)
    list(gather.submissions(0.0))
    member = named(gather, "c0")
    gather.answered(member, Answer(member.id, member.in_flight[0], "data", FRAMES, 1, 1.0, 100), 0.0)
    gather.asked = True
    chosen = gather.due()
    assert chosen is not None
    gather.hand_out(chosen)
    assert list(gather.submissions(0.0)) == []  # seven shares of 100 bytes are under way
