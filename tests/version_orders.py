"""Check that each frame has the version that acted, and that no batch exceeds the bound, in any order of events.

The policy's action is its one parameter, and the environment pays the action as reward. Each publish has a value of its
own, so that a frame shows which weights made it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase

from collectorfleet import FleetCollector
from collectorfleet.gather.shared import Shared, Staged
from collectorfleet.gather.state.admissions import Batch
from collectorfleet.recovery.failure import ReplaceWithBackoff

VERSION = ("collector", "weights_version")
SHARE = 4
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
    """One fleet, and everything that a user or fate may do to it. A subclass makes the fleet and its losses."""

    sync: bool
    bounds: st.SearchStrategy[int | None]
    within_seconds = 30.0

    def made(self, *arguments: Any, **options: Any) -> AbstractContextManager[FleetCollector]:
        """Return the context of a fleet."""
        raise NotImplementedError

    def kill(self, name: str) -> None:
        """Kill the collector that fills the slot ``name`` if there is one."""
        raise NotImplementedError

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
        self.options = {
            "num_collectors": collectors,
            "frames_per_batch": SHARE * shares,
            "sync": self.sync,
            "max_staleness": self.bound,
            "update_between_steps": update_between_steps,
            "rollout": rollout,
            "failure_policy": AT_ONCE,
            **options,
        }
        self.value = 1
        self.taken: list[tuple[int, Batch]] = []
        self.published: dict[int, Staged | int] = {1: 1}
        self._start(None)

    def _start(self, state: Mapping[str, Any] | None) -> None:
        """Start the fleet, or a fleet that continues from ``state``."""
        policy = TensorDictModule(Value(), in_keys=["observation"], out_keys=["action"])
        if state is not None:
            policy.load_state_dict(state["policy_state_dict"])
        self.stack = contextlib.ExitStack()
        made = self.made(Pays, policy, resume_from=state, **self.options)
        self.collector: FleetCollector = self.stack.enter_context(made)
        self.shared: Shared = self.collector._consumer.shared
        self.batches = iter(self.collector)
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
            wait(condition, self.within_seconds if timeout is None else timeout)
            if interrupted == "after":
                raise KeyboardInterrupt
            assert timeout is not None or condition(), f"nothing within {self.within_seconds:g} s"

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
        self._train()
        self.published[self.value] = self.collector.publish()

    def _train(self) -> None:
        self.value += 1
        with torch.no_grad():
            for parameter in self.collector.policy.parameters():
                parameter.fill_(float(self.value))

    @rule(when=st.sampled_from(["before", "after"]))
    def a_publish_that_waits_is_interrupted(self, when: str) -> None:
        self.weights_are_published()
        staged = self.published[self.value]
        assert isinstance(staged, Staged)
        with self.waits(when):
            self.collector._consumer.wait_applied(staged, 0.01)

    @rule(name=st.sampled_from(["c0", "c1", "c2"]))
    def a_collector_dies(self, name: str) -> None:
        self.kill(name)

    @rule(collectors=st.integers(1, 3))
    def the_fleet_is_resized(self, collectors: int) -> None:
        self.collector.resize(collectors)
        self.options["num_collectors"] = collectors

    @rule(publishes=st.booleans())
    def the_fleet_is_paused(self, publishes: bool) -> None:
        with self.collector.pause(self.within_seconds):
            collected = self.shared.statistics.frames_collected
            if publishes:
                self.weights_are_published()
            self.collector.status()
            assert self.shared.statistics.frames_collected == collected

    @rule(when=st.sampled_from(["before", "after"]))
    def a_pause_is_interrupted(self, when: str) -> None:
        with self.waits(when), self.collector.pause(self.within_seconds):
            pass

    @rule(seed=st.integers(0, 9))
    def environments_are_seeded(self, seed: int) -> None:
        self.collector.set_seed(seed, timeout=self.within_seconds)

    @rule(method=st.sampled_from(["reset", "env.reset"]))
    def environments_are_reset(self, method: str) -> None:
        self.collector.map_fn(method, timeout=self.within_seconds)

    @rule()
    def collectors_are_asked(self) -> None:
        assert self.collector.get_distant_attr("requested_frames_per_batch", timeout=self.within_seconds)

    @rule()
    def another_fleet_goes_on(self) -> None:
        self._train()
        state = self.collector.state_dict(timeout=self.within_seconds)
        self.published[self.value] = state["version"] + 1
        self.stack.close()
        self._start(state)

    # ---------------------------------------------------------------- what holds
    @invariant()
    def nothing_ends_the_run(self) -> None:
        assert not hasattr(self, "shared") or self.shared.error is None

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            for _ in range(2):
                self.a_batch_is_taken()
            self.stack.close()
