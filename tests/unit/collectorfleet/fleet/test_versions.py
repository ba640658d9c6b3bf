"""Each frame says the version that acted, and no batch is older than the bound, whatever happens in whatever order.

The policy's action is its one parameter, and the environment pays the action as reward. Each publish has a value of its
own, so that a frame shows which weights made it. ``--hypothesis-profile=thorough`` tries 1,000 orders of each kind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from tests.contract.in_process import InProcess
from tests.example_count import examples
from tests.in_process_fleet import fleet, living
from torch import Tensor, nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase

from collectorfleet import FleetCollector
from collectorfleet.gather.shared import Shared, Staged
from collectorfleet.gather.state.admissions import Batch
from collectorfleet.recovery.failure import ReplaceWithBackoff

WITHIN_SECONDS = 30.0
VERSION = ("collector", "weights_version")
SHARE = 4
# An example takes some 0.2 s.
EXAMPLES = examples(10)
AT_ONCE = ReplaceWithBackoff(budget=10_000, first_pause=timedelta(0))


class Value(nn.Module):
    """Acts with its parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.ones(1))

    def forward(self, observation: Tensor) -> Tensor:
        return self.value + 0 * observation


class Pays(EnvBase):
    """Pays each action as reward, in episodes of three steps."""

    def __init__(self) -> None:
        super().__init__(device="cpu", batch_size=torch.Size([]))
        self.observation_spec = Composite(observation=Unbounded(shape=(1,)))
        self.action_spec = Unbounded(shape=(1,))
        self.reward_spec = Unbounded(shape=(1,))
        self.done_spec = Binary(shape=(1,), dtype=torch.bool)
        self.steps = 0

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        self.steps = 0
        return TensorDict({"observation": torch.zeros(1)}, batch_size=[])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self.steps += 1
        return TensorDict(
            {
                "observation": torch.full((1,), float(self.steps)),
                "reward": tensordict["action"].clone(),
                "done": torch.tensor([self.steps >= 3]),
            },
            batch_size=[],
        )

    def _set_seed(self, seed: int | None) -> None:
        pass


class Orders(RuleBasedStateMachine):
    """One fleet, and everything that a user or fate may do to it."""

    sync: bool
    bounds: st.SearchStrategy[int | None]

    @initialize(
        data=st.data(),
        collectors=st.integers(1, 3),
        shares=st.integers(1, 2),
        update_between_steps=st.booleans(),
        cut_short=st.booleans(),
        rollout=st.sampled_from(["auto", "torchrl"]),
    )
    def begin(
        self,
        data: st.DataObject,
        *,
        collectors: int,
        shares: int,
        update_between_steps: bool,
        cut_short: bool,
        rollout: str,
    ) -> None:
        self.bound = data.draw(self.bounds)
        options: dict[str, Any] = {"shares": shares, "preemptive_threshold": 0.5 if cut_short else None}
        if not self.sync:
            shares, options = 1, {}
        policy = TensorDictModule(Value(), in_keys=["observation"], out_keys=["action"])
        self.stack = contextlib.ExitStack()
        self.collector: FleetCollector = self.stack.enter_context(
            fleet(
                Pays,
                policy,
                num_collectors=collectors,
                frames_per_batch=SHARE * shares,
                sync=self.sync,
                max_staleness=self.bound,
                update_between_steps=update_between_steps,
                rollout=rollout,
                failure_policy=AT_ONCE,
                **options,
            )
        )
        self.shared: Shared = self.collector._consumer.shared
        self.batches = iter(self.collector)
        self.value = 1
        self.published: dict[int, Staged | int] = {1: 1}
        self.taken: list[tuple[int, Batch]] = []
        self._note_what_is_taken()

    def _note_what_is_taken(self) -> None:
        gather = self.shared.gather
        hand_out = gather.hand_out

        def noted(chosen: Any) -> Batch:
            batch = hand_out(chosen)
            self.taken.append((gather.version, batch))
            return batch

        gather.hand_out = noted  # type: ignore[method-assign]

    @contextlib.contextmanager
    def waits(self, interrupted: str | None = None) -> Iterator[None]:
        """Waits inside end: by an interrupt, before or after what they wait for, or by an error if it never comes."""
        wait = self.shared.wait_for

        def noted(condition: Callable[[], object], timeout: float | None = None) -> None:
            if interrupted == "before":
                raise KeyboardInterrupt
            wait(condition, WITHIN_SECONDS if timeout is None else timeout)
            if interrupted == "after":
                raise KeyboardInterrupt
            assert timeout is not None or condition(), f"nothing within {WITHIN_SECONDS:g} s"

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.shared, "wait_for", noted)
            if interrupted is None:
                yield
            else:
                with contextlib.suppress(KeyboardInterrupt):
                    yield

    # ---------------------------------------------------------------- what happens
    @rule()
    def a_batch_is_taken(self) -> None:
        before = len(self.taken)
        with self.waits():
            batch = next(self.batches)
        assert len(self.taken) == before + 1, "one batch is taken for each that is asked for"
        self._check(batch)

    def _check(self, batch: TensorDictBase) -> None:
        mask = batch.get(("collector", "mask"), torch.ones(batch.shape, dtype=torch.bool))
        recorded = batch[VERSION][mask].tolist()
        acted = batch["next", "reward"][mask].flatten().tolist()
        shown = batch["action"][mask].flatten().tolist()
        assert acted == shown
        for version, value in set(zip(recorded, acted, strict=True)):
            staged = self.published[int(value)]
            assert version == (staged if isinstance(staged, int) else staged.version)
        newest, taken = self.taken[-1]
        staleness = newest - min(recorded)
        assert staleness == taken.staleness == self.shared.statistics.stalenesses[-1]
        assert self.bound is None or staleness <= self.bound

    @rule(when=st.sampled_from(["before", "after"]))
    def the_wait_for_a_batch_is_interrupted(self, when: str) -> None:
        before = len(self.taken)
        with self.waits(when):
            next(self.batches)
        assert len(self.taken) == before

    @rule()
    def weights_are_published(self) -> None:
        self.value += 1
        with torch.no_grad():
            for parameter in self.collector.policy.parameters():
                parameter.fill_(float(self.value))
        self.published[self.value] = self.collector.publish()

    @rule(when=st.sampled_from(["before", "after"]))
    def a_publish_that_waits_is_interrupted(self, when: str) -> None:
        self.weights_are_published()
        staged = self.published[self.value]
        assert isinstance(staged, Staged)
        with self.waits(when):
            self.collector._consumer.wait_applied(staged, 0.01)

    @rule(name=st.sampled_from(["c0", "c1", "c2"]))
    def a_collector_dies(self, name: str) -> None:
        there = living(self.collector)
        if name in there:
            with contextlib.suppress(KeyError):  # the gather thread has ended it just now
                self._transport.kill(there[name])

    @rule(which=st.integers(0, 5))
    def an_answer_is_lost(self, which: int) -> None:
        with self.shared.changed:
            under_way = sorted(n for one in self.shared.gather.collectors for n in one.in_flight)
        if under_way:
            self._transport.lose(under_way[which % len(under_way)])

    @rule(collectors=st.integers(1, 3))
    def the_fleet_is_resized(self, collectors: int) -> None:
        self.collector.resize(collectors)

    @rule(publishes=st.booleans())
    def the_fleet_is_paused(self, publishes: bool) -> None:
        with self.collector.pause(WITHIN_SECONDS):
            collected = self.shared.statistics.frames_collected
            if publishes:
                self.weights_are_published()
            self.collector.status()
            assert self.shared.statistics.frames_collected == collected

    @rule(when=st.sampled_from(["before", "after"]))
    def a_pause_is_interrupted(self, when: str) -> None:
        with self.waits(when), self.collector.pause(WITHIN_SECONDS):
            pass

    @rule(seed=st.integers(0, 9))
    def environments_are_seeded(self, seed: int) -> None:
        self.collector.set_seed(seed, timeout=WITHIN_SECONDS)

    @rule(method=st.sampled_from(["reset", "env.reset"]))
    def environments_are_reset(self, method: str) -> None:
        self.collector.map_fn(method, timeout=WITHIN_SECONDS)

    @rule()
    def collectors_are_asked(self) -> None:
        assert self.collector.get_distant_attr("requested_frames_per_batch", timeout=WITHIN_SECONDS)

    # ---------------------------------------------------------------- what holds
    @invariant()
    def nothing_ends_the_run(self) -> None:
        assert not hasattr(self, "shared") or self.shared.error is None

    @property
    def _transport(self) -> InProcess:
        transport = self.collector._transport
        assert isinstance(transport, InProcess)
        return transport

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            for _ in range(2):
                self.a_batch_is_taken()
            self.stack.close()


class OrdersInSync(Orders):
    sync, bounds = True, st.integers(0, 2)


class OrdersInAsync(Orders):
    sync, bounds = False, st.none() | st.integers(1, 3)


TestSync, TestAsync = OrdersInSync.TestCase, OrdersInAsync.TestCase
TestSync.settings = TestAsync.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=20, suppress_health_check=[HealthCheck.too_slow]
)
