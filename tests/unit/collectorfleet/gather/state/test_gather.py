"""What a gather sends, waits for and hands out, case by case."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

from tests.unit.collectorfleet.gather.world import join

from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Answer, CollectorId

FRAMES = 10


SHARE_BYTES = 100


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
    gather.is_batch_wanted = True
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
    gather.is_batch_wanted = True
    gather.collectors.starting(CollectorId("c1", 2), 1, 0.0)
    assert [one.id.name for one, _ in gather.submissions(1.0)] == ["c0"]
    assert [one.id.name for one, _ in gather.submissions(11.0)] == ["c0"]  # c1 takes too long


def test_the_version_advances_freely_while_nothing_is_under_way_and_once_where_one_batch_is_ahead() -> None:
    gather = gather_of(replace(SYNC, bound=1))
    for _ in range(3):
        assert gather.may_advance()
        gather.version += 1
    gather.is_batch_wanted = True
    list(gather.submissions(0.0))
    assert not gather.may_advance()  # the second batch ahead would be two versions old
    answer(gather, "c0", version=4)
    gather.hand_out(gather.due() or [])
    assert gather.may_advance()
    gather.version += 1
    assert not gather.may_advance()


def test_once_the_goal_is_reached_the_last_version_waits_for_no_batch_that_nobody_gets() -> None:
    gather = gather_of(Plan(1, 10, True, 0, None))
    ready(gather, "c0")
    gather.begun = gather.is_batch_wanted = True
    gather.version = 1
    assert list(gather.submissions(0.0))
    assert not gather.may_advance()
    gather.end()
    assert gather.finished
    assert gather.may_advance()
    assert not list(gather.submissions(0.0))


def test_the_first_shares_make_a_batch_and_the_late_one_goes_into_the_next() -> None:
    gather = gather_of(replace(ASYNC, shares=2, bound=1), collectors=3)
    gather.is_batch_wanted = True
    list(gather.submissions(0.0))
    answer(gather, "c0")
    assert gather.due() is None
    answer(gather, "c2")
    chosen = gather.due()
    assert chosen is not None
    assert gather.hand_out(chosen).frames == 2 * FRAMES
    gather.version, gather.is_batch_wanted = 2, True
    list(gather.submissions(0.0))
    answer(gather, "c1", version=1)  # the straggler
    answer(gather, "c0", version=2)
    chosen = gather.due()
    assert chosen is not None
    assert gather.hand_out(chosen).staleness == 1


def test_exact_staleness_asks_for_the_version_of_the_admission_even_when_a_newer_one_is_out() -> None:
    gather = gather_of(replace(SYNC, shares=2, bound=1, exact=True))
    gather.is_batch_wanted = True
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
    gather.is_batch_wanted = True
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
    gather.is_batch_wanted = True
    chosen = gather.due()
    assert chosen is not None
    gather.hand_out(chosen)
    assert list(gather.submissions(0.0)) == []  # seven shares of 100 bytes are under way


def test_answers_that_are_older_than_they_were_asked_for_stop_nobody_and_say_how_old_they_are() -> None:
    gather = gather_of(replace(ASYNC, bound=1), collectors=2)
    gather.version = 5
    stalenesses = []
    for _ in range(20):
        gather.is_batch_wanted = True
        for _one, _request in gather.submissions(0.0):
            pass
        for one in gather.collectors:
            if one.in_flight:
                asked = gather._requests[one.in_flight[0]].admission.version
                answer(gather, one.id.name, asked - 1)
        chosen = gather.due()
        assert chosen is not None
        stalenesses.append(gather.hand_out(chosen).staleness)
        if gather.may_advance():
            gather.version += 1
    assert max(stalenesses) == 2  # one by the bound, and one that nobody asked for


def test_an_answer_that_is_older_than_it_was_asked_for_does_not_go_before_one_whose_time_runs_out() -> None:
    gather = gather_of(replace(ASYNC, bound=3), collectors=2)
    gather.is_batch_wanted = True
    first = next(gather.submissions(0.0))[0].id.name
    gather.version = 4  # as far as the bound allows while the first one is under way
    second = next(one.id.name for one, _ in gather.submissions(0.0) if one.id.name != first)
    answer(gather, second, version=0)
    answer(gather, first, version=1)
    chosen = gather.due()
    assert chosen is not None
    assert [share.version for share in gather.hand_out(chosen).shares] == [1]
    gather.is_batch_wanted = True
    chosen = gather.due()
    assert chosen is not None
    assert gather.hand_out(chosen).staleness == 4


def test_a_resumed_run_asks_for_no_weights_before_it_published_some() -> None:
    gather = Gather(replace(ASYNC, bound=0))
    gather.restored(frames=500, version=7)
    gather.begun = gather.is_batch_wanted = True
    ready(gather, "c0", version=0)
    ((one, request), *_) = list(gather.submissions(0.0))
    assert (request.min_version, request.version) == (0, None)
    gather.answered(one, Answer(one.id, request.id, "data", FRAMES, 0, 1.0), 0.0)
    chosen = gather.due()
    assert chosen is not None
    assert gather.hand_out(chosen).staleness == 0
    gather.version += 1
    gather.is_batch_wanted = True
    assert [asked.min_version for _, asked in gather.submissions(0.0)] == [8]


def test_one_large_share_long_ago_does_not_hold_back_small_ones_for_ever() -> None:
    gather = gather_of(replace(ASYNC, store_bytes=500), collectors=4)
    size_bytes = 200
    for _ in range(1001):
        list(gather.submissions(0.0))
        busy = next(one for one in gather.collectors if one.in_flight)
        gather.answered(busy, Answer(busy.id, busy.in_flight[0], "data", FRAMES, 1, 1.0, size_bytes), 0.0)
        gather.is_batch_wanted = True
        gather.hand_out(gather.due() or [])
        size_bytes = 10
    list(gather.submissions(0.0))
    assert sum(len(one.in_flight) for one in gather.collectors) == 8


class Rollout:
    """Tens of megabytes of a shared object store."""


def test_a_rollout_is_gone_with_the_last_who_uses_it_and_waits_for_no_garbage_collector() -> None:
    gather = gather_of(ASYNC)
    list(gather.submissions(0.0))
    gather.is_batch_wanted = True
    payload = Rollout()
    one, lives = named(gather, "c0"), weakref.ref(payload)
    gather.answered(one, Answer(one.id, one.in_flight[0], payload, FRAMES, 1, 1.0), 0.0)
    gc.disable()
    try:
        batch = gather.hand_out(gather.due() or [])
        assert batch.shares[0].payload is payload
        del batch, payload
        assert lives() is None
    finally:
        gc.enable()


def test_a_gather_is_throttled_only_while_the_bound_holds_back_idle_collectors_or_finished_shares() -> None:
    gather = gather_of(replace(SYNC, bound=0))
    assert not gather.throttled
    assert list(gather.submissions(0.0)) == []
    assert gather.throttled  # c0 is idle, because the consumer may still publish
    gather.is_batch_wanted = True
    assert len(list(gather.submissions(0.0))) == 1
    assert not gather.throttled


def test_a_gather_is_not_throttled_while_it_is_paused_or_has_no_bound() -> None:
    bounded, unbounded = gather_of(SYNC), gather_of(ASYNC)
    assert list(bounded.submissions(0.0)) == []
    assert bounded.throttled
    bounded.paused = True
    assert list(bounded.submissions(0.0)) == []
    assert len(list(unbounded.submissions(0.0))) == 2
    assert (bounded.throttled, unbounded.throttled) == (False, False)


def test_answers_of_a_resumed_run_are_no_older_than_the_weights_that_it_began_with() -> None:
    gather = Gather(replace(ASYNC, random_frames=30))
    gather.restored(frames=20, version=7)
    assert (gather.version, gather.frames_handed_out) == (7, 20)
    gather.begun = gather.is_batch_wanted = True
    one = ready(gather, "c0", version=0)
    assert [request.random for _, request in gather.submissions(0.0)] == [True, False]
    gather.answered(one, Answer(one.id, one.in_flight[0], "data", FRAMES, 0, 1.0), 0.0)
    assert gather.choose()
    assert not gather.choose()
    assert [share.version for share in gather.hand_out(gather.chosen or []).shares] == [7]
    assert (gather.frames_handed_out, gather.is_batch_wanted, gather.chosen) == (30, False, None)


def test_a_run_ends_with_the_frames_that_were_asked_for() -> None:
    gather = gather_of(replace(SYNC, total_frames=2 * FRAMES))
    for _ in range(2):
        assert not gather.finished
        gather.is_batch_wanted = True
        assert len(list(gather.submissions(0.0))) == 1
        answer(gather, "c0")
        gather.hand_out(gather.due() or [])
    assert gather.finished
    gather.is_batch_wanted = True
    assert list(gather.submissions(0.0)) == []
