"""The gather loop with collectors that do anything in any order, driven turn by turn: what holds whatever happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.collectorfleet.gather.world import FRAMES, Remote, World

from collectorfleet.gather.consumer import Limits, Policies
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.pieces import Life
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Fault, Finished
from collectorfleet.policies.failure import ReplaceWithBackoff
from collectorfleet.policies.scaling import EmptyWholePods

DEADLINE = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Anything(RuleBasedStateMachine):
    world: World

    @initialize(
        collectors=st.integers(1, 3),
        shares=st.integers(1, 3),
        in_order=st.booleans(),
        bound=st.none() | st.integers(1, 3),
        total=st.none() | st.integers(50, 400),
        exact=st.booleans(),
        cut_short_after=st.none() | st.just(1),
    )
    def begin(
        self, collectors: int, shares: int, in_order: bool, bound: int | None, total: int | None, **m: Any
    ) -> None:
        m = m if in_order else {}
        self.plan = Plan(shares, FRAMES, in_order, (bound or 0) if in_order else bound, total, **m)
        self.collectors = collectors
        self.clock = Clock()
        self.versions_of_all_drivers: list[int] = []
        self.checkpoint: dict[str, Any] | None = None
        self.delivered_before = 0
        self.late: list[Finished] = []
        self.awaits = False
        self.start_driver()

    def start_driver(self) -> None:
        self.world = World()
        self.loop = GatherLoop(
            self.world,
            Gather(self.plan),
            collectors=self.collectors,
            limits=Limits(timedelta(seconds=DEADLINE), timedelta(seconds=DEADLINE), timedelta(days=99), 1),
            policies=Policies(ReplaceWithBackoff(budget=10_000), EmptyWholePods()),
            has_weights=True,
            clock=self.clock,
        )
        if self.checkpoint is not None:
            self.loop.restore(self.checkpoint)
        self.awaits = False
        self.loop.publish("weights")
        self.everybody_joins()

    @rule()
    def everybody_joins(self) -> None:
        self.clock.now += 100  # pauses are over
        self.loop.turn()
        for remote in self.remotes(unbuilt=True):
            self.world.build(remote)
        self.loop.turn()
        for remote in self.remotes(offers=True):
            self.world.load(remote)
        self.loop.turn()
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
        self.clock.now += seconds
        self.loop.turn()
        if self.awaits:
            self.take()

    def take(self) -> None:
        with self.loop.changed:
            batch = self.loop.take()
        if batch is None:
            return
        self.awaits = False
        assert all(share.done for share in batch.shares)
        assert batch.staleness >= 0
        assert self.plan.bound is None or batch.staleness <= self.plan.bound
        assert not self.plan.exact or len({share.version for share in batch.shares}) == 1

    @rule()
    def the_consumer_asks(self) -> None:
        if not self.awaits:
            with self.loop.changed:
                self.awaits = self.loop.ask()

    @rule()
    def the_consumer_publishes(self) -> None:
        self.loop.publish("weights")

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
        self.late.append(self.world.answer(remote, frames=data.draw(st.integers(1, FRAMES)) if short else FRAMES))

    @precondition(lambda self: self.world.alive)
    @rule(data=st.data(), fault=st.sampled_from([Fault.DIED, Fault.NODE_LOST, Fault.OUT_OF_MEMORY]))
    def a_collector_dies(self, data: st.DataObject, fault: Fault) -> None:
        self.world.die(data.draw(st.sampled_from(list(self.world.alive.values()))), fault)

    @rule()
    def everybody_hangs(self) -> None:
        self.loop.turn()
        self.loop.turn()  # what the first has noted is asked again
        working = [m.address for m in self.loop.gather.members.values() if m.working_since is not None]
        self.clock.now += DEADLINE + 1
        self.loop.turn()
        if self.awaits:
            self.take()
        assert self.world.stopped.issuperset(working)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def a_retired_collector_says_something_after_all(self, data: st.DataObject) -> None:
        said = data.draw(st.sampled_from(self.late))
        self.loop.turn()
        if said.address in self.world.stopped:
            collected = self.loop.statistics.frames_collected
            self.world.events.append(said)
            self.loop.turn()
            assert self.loop.statistics.frames_collected == collected
        if self.awaits:
            self.take()

    @rule(collectors=st.integers(1, 4))
    def the_fleet_is_resized(self, collectors: int) -> None:
        self.loop.resize(collectors)
        self.collectors = collectors

    @rule()
    def the_driver_writes_a_checkpoint(self) -> None:
        with self.loop.changed:
            self.checkpoint = self.loop.counters()

    @precondition(lambda self: self.checkpoint is not None)
    @rule()
    def a_second_driver_goes_on(self) -> None:
        self.versions_of_all_drivers.extend(self.world.digests)
        # What was published after the checkpoint is known from the status.
        newest = max([self.loop.gather.version, *self.versions_of_all_drivers])
        assert self.checkpoint is not None
        self.checkpoint = {**self.checkpoint, "version": max(self.checkpoint["version"], newest)}
        self.delivered_before = self.checkpoint["frames"]
        self.late = []
        self.start_driver()

    @invariant()
    def frames_are_conserved(self) -> None:
        if hasattr(self, "loop"):
            due = self.loop._due.frames if self.loop._due else 0
            gather, counted = self.loop.gather, self.loop.statistics
            assert counted.frames_handed_out == gather.frames_handed_out
            assert counted.frames_collected == counted.frames_handed_out + gather.frames_waiting
            assert due <= counted.frames_handed_out
            assert gather.frames_handed_out >= self.delivered_before

    @invariant()
    def versions_only_grow_and_are_never_used_twice(self) -> None:
        if hasattr(self, "loop"):
            versions = [*self.versions_of_all_drivers, *self.world.digests]
            assert versions == sorted(set(versions))

    @invariant()
    def who_is_available_has_acknowledged_what_was_published(self) -> None:
        if hasattr(self, "loop"):
            for member in self.loop.gather.members.values():
                if member.life is Life.READY:
                    assert member.applied_version in self.world.digests

    @invariant()
    def only_kept_versions_can_be_asked_for(self) -> None:
        if hasattr(self, "loop") and self.loop.store.newest is not None:
            assert self.loop.store.kept_versions[-1] == self.loop.store.newest.version == self.loop.gather.version
            assert len(self.loop.store.kept_versions) <= (2 + (self.plan.bound or 0) if self.plan.exact else 1)


TestAnything = Anything.TestCase
TestAnything.settings = settings(max_examples=150, stateful_step_count=80, deadline=None)
