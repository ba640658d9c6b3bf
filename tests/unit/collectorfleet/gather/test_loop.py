"""The gather loop with collectors that do anything in any order, driven turn by turn: what holds whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.collectorfleet.gather.world import FRAMES, Played, Remote, World

from collectorfleet.gather.counters import counters_of, restore
from collectorfleet.gather.shared import Limits
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Answer, Fault
from collectorfleet.recovery.failure import ReplaceWithBackoff
from collectorfleet_api.v1alpha1 import CollectorState

DEADLINE = 60.0


class Anything(RuleBasedStateMachine):
    world: World
    # What decides most, so each kind has examples of its own.
    in_order: bool
    bounds: st.SearchStrategy[int | None]

    @initialize(
        data=st.data(),
        collectors=st.integers(1, 3),
        shares=st.integers(1, 3),
        total=st.none() | st.integers(50, 400),
        exact=st.booleans(),
        cut_short_after=st.none() | st.just(1),
        mixes=st.booleans(),
    )
    def begin(
        self, data: st.DataObject, collectors: int, shares: int, total: int | None, *, mixes: bool, **m: Any
    ) -> None:
        # Its trajectories span updates: it answers with older versions than it was asked for.
        self.mixes = mixes
        m = m | {"exact": m["exact"] and not mixes} if self.in_order else {}
        self.plan = Plan(shares, FRAMES, self.in_order, data.draw(self.bounds), total, **m)
        self.collectors = collectors
        self.versions_of_all_drivers: list[int] = []
        self.checkpoint: dict[str, Any] | None = None
        self.delivered_before = 0
        self.late: list[Answer] = []
        self.awaits = False
        self.start_driver()

    def start_driver(self) -> None:
        limits = Limits(timedelta(seconds=DEADLINE), timedelta(seconds=DEADLINE), timedelta(days=99), 1)
        self.played = Played(self.plan, self.collectors, limits=limits, failure=ReplaceWithBackoff(budget=10_000))
        self.world = self.played.world
        if self.checkpoint is not None:
            restore(self.played.consumer.shared, self.checkpoint)
        self.awaits = False
        self.played.consumer.stage("weights")
        self.everybody_joins()

    @rule()
    def everybody_joins(self) -> None:
        self.played.turn(seconds=100)  # pauses are over
        for remote in self.remotes(unbuilt=True):
            self.world.build(remote)
        self.played.turn()
        for remote in self.remotes(offers=True):
            self.world.load(remote)
        self.played.turn()
        if self.awaits:
            self.take()

    def remotes(self, **having: bool) -> list[Remote]:
        checks = {
            "unbuilt": lambda r: not r.built,
            "offers": lambda r: r.built and r.offered > r.acknowledged,
            "requests": lambda r: bool(r.requests),
        }
        return [r for r in self.world.alive.values() if all(checks[name](r) for name in having)]

    @rule(seconds=st.floats(0, 3))
    def the_thread_turns(self, seconds: float) -> None:
        self.played.turn(seconds)
        if self.awaits:
            self.take()

    def take(self) -> None:
        with self.played.shared.changed:
            batch = self.played.consumer.take_batch()
        if batch is None:
            return
        self.awaits = False
        assert all(share.done for share in batch.shares)
        assert batch.staleness >= 0
        assert self.mixes or self.plan.bound is None or batch.staleness <= self.plan.bound
        assert not self.plan.exact or len({share.version for share in batch.shares}) == 1

    @rule()
    def the_consumer_asks(self) -> None:
        if not self.awaits:
            with self.played.shared.changed:
                self.awaits = self.played.consumer.request_batch()

    @rule()
    def the_consumer_publishes(self) -> None:
        self.played.consumer.stage("weights")

    @precondition(lambda self: self.remotes(unbuilt=True))
    @rule(data=st.data())
    def a_collector_is_built(self, data: st.DataObject) -> None:
        self.world.build(data.draw(st.sampled_from(self.remotes(unbuilt=True))))

    @precondition(lambda self: self.remotes(offers=True))
    @rule(data=st.data())
    def a_collector_loads(self, data: st.DataObject) -> None:
        self.world.load(data.draw(st.sampled_from(self.remotes(offers=True))))

    @precondition(lambda self: self.remotes(requests=True))
    @rule(data=st.data(), readable=st.booleans())
    def a_collector_answers(self, data: st.DataObject, readable: bool) -> None:
        remote = data.draw(st.sampled_from(self.remotes(requests=True)))
        if not readable:
            self.world.lose_answer(remote)
            return
        short = remote.requests[0].id in self.world.cut
        frames = data.draw(st.integers(1, FRAMES)) if short else FRAMES
        behind = data.draw(st.integers(0, 5)) if self.mixes else 0
        self.late.append(self.world.answer(remote, frames=frames, behind=behind))

    @rule(behind=st.integers(0, 5))
    def batches_come_if_nothing_more_goes_wrong(self, behind: int) -> None:
        self.played.consumer.drain_pods([])
        for _ in range(4):
            self.the_consumer_publishes()
            self.the_consumer_asks()
            assert any(self.everybody_works(behind) for _ in range(200)), "no batch, although everybody answers"

    def everybody_works(self, behind: int) -> bool:
        """For a second; whether the consumer has what it asked for."""
        for remote in self.remotes(requests=True):
            self.world.answer(remote, behind=behind if self.mixes else 0)
        for remote in self.remotes(unbuilt=True):
            self.world.build(remote)
        for remote in self.remotes(offers=True):
            self.world.load(remote)
        self.the_thread_turns(1.0)
        return not self.awaits

    @precondition(lambda self: self.world.alive)
    @rule(data=st.data(), fault=st.sampled_from([Fault.DIED, Fault.NODE_LOST, Fault.OUT_OF_MEMORY]))
    def a_collector_dies(self, data: st.DataObject, fault: Fault) -> None:
        self.world.die(data.draw(st.sampled_from(list(self.world.alive.values()))), fault)

    @rule()
    def everybody_hangs(self) -> None:
        self.played.turn()
        self.played.turn()  # what the first has noted is asked again
        working = [m.id for m in self.played.gather.collectors if m.working_since is not None]
        self.played.turn(seconds=DEADLINE + 1)
        if self.awaits:
            self.take()
        assert self.world.stopped.issuperset(working)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def a_retired_collector_says_something_after_all(self, data: st.DataObject) -> None:
        said = data.draw(st.sampled_from(self.late))
        self.played.turn()
        if said.collector in self.world.stopped:
            delivered, discarded = self.counted()
            self.world.messages.append(said)
            self.played.turn()
            assert self.counted() == (delivered, discarded + said.frames)
        if self.awaits:
            self.take()

    def counted(self) -> tuple[int, int]:
        """Frames that are somebody's or will be, and those that came too late for that."""
        statistics, waiting = self.played.shared.statistics, self.played.gather.admissions.frames_waiting
        return statistics.frames_handed_out + waiting, statistics.frames_too_late

    @rule(collectors=st.integers(1, 4))
    def the_fleet_is_resized(self, collectors: int) -> None:
        self.played.consumer.resize(collectors)
        self.collectors = collectors

    @rule(pods=st.frozensets(st.sampled_from(["pod-c0", "pod-c1", "pod-c2"])))
    def pods_are_drained(self, pods: frozenset[str]) -> None:
        self.played.consumer.drain_pods(pods)

    @rule()
    def the_driver_writes_a_checkpoint(self) -> None:
        with self.played.shared.changed:
            self.checkpoint = counters_of(self.played.consumer.shared)

    @precondition(lambda self: self.checkpoint is not None)
    @rule()
    def a_second_driver_goes_on(self) -> None:
        self.versions_of_all_drivers.extend(self.world.digests)
        # What was published after the checkpoint is known from the status.
        newest = max([self.played.gather.version, *self.versions_of_all_drivers])
        assert self.checkpoint is not None
        self.checkpoint = {**self.checkpoint, "version": max(self.checkpoint["version"], newest)}
        self.delivered_before = self.checkpoint["frames"]
        self.late = []
        self.start_driver()

    @invariant()
    def frames_are_conserved(self) -> None:
        if hasattr(self, "played"):
            gather, shared = self.played.gather, self.played.shared
            counted = shared.statistics
            if gather.finished:
                assert counted.frames_collected == counted.frames_handed_out + shared.frames_discarded
            assert counted.frames_handed_out == gather.frames_handed_out
            assert counted.frames_collected == sum(self.counted())
            assert gather.frames_handed_out >= self.delivered_before

    @invariant()
    def versions_only_grow_and_are_never_used_twice(self) -> None:
        if hasattr(self, "played"):
            versions = [*self.versions_of_all_drivers, *self.world.digests]
            assert versions == sorted(set(versions))

    @invariant()
    def who_is_available_has_acknowledged_what_was_published(self) -> None:
        if hasattr(self, "played"):
            for member in self.played.gather.collectors:
                if member.state is CollectorState.READY:
                    assert member.applied_version in self.world.digests

    @invariant()
    def only_kept_versions_can_be_asked_for(self) -> None:
        versions = self.played.shared.versions if hasattr(self, "played") else None
        if versions is not None and versions.newest is not None:
            assert versions.kept[-1] == versions.newest.version == self.played.gather.version
            assert len(versions.kept) <= (2 + (self.plan.bound or 0) if self.plan.exact else 1)


class AnythingInSync(Anything):
    in_order, bounds = True, st.integers(0, 3)


class AnythingInAsync(Anything):
    in_order, bounds = False, st.integers(1, 3)


class AnythingUnbounded(Anything):
    in_order, bounds = False, st.none()


TestSync, TestAsync, TestUnbounded = AnythingInSync.TestCase, AnythingInAsync.TestCase, AnythingUnbounded.TestCase
TestSync.settings = TestAsync.settings = TestUnbounded.settings = settings(max_examples=60, stateful_step_count=80)
