"""A rollout says which versions of the weights made its frames, and the oldest of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import TensorDictModule
from tests import envs
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, ObservationNorm, TransformedEnv

from collectorfleet.actor import frame_entries
from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.normalization.search import transforms_of
from collectorfleet.actor.stamp import STAMP, STAMP_KEY
from collectorfleet.codec import frames as keys
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import POLICY, Request, Segment


class Publishing(envs.Counting):
    """Calls ``publish`` in its second step."""

    publish: Callable[[], None]

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        stepped = super()._step(tensordict)
        if self._steps == 2:
            self.publish()
        return stepped


class Whole(TensorDictModule):
    """May read and write any entry, so that TorchRL's loop calls it."""


@pytest.mark.parametrize(
    ("loop", "whole"), [(RolloutLoop.FAST, False), (RolloutLoop.TORCHRL, False), (RolloutLoop.AUTO, True)]
)
def test_the_oldest_of_several_versions_in_one_rollout_is_said(loop: RolloutLoop, whole: bool) -> None:
    policy, environment = envs.make_policy(), Publishing()
    if whole:
        policy = Whole(policy.module, policy.in_keys, policy.out_keys)
    runner = build(CollectorConfig(environment, policy, 6, update_between_steps=True, rollout=loop), 1)
    inbox = runner.inboxes[POLICY]
    weights = snapshots.take(snapshots.by_every_name(policy))
    environment.publish = lambda: inbox.offer(Offer(7, weights))
    inbox.offer(Offer(5, weights))
    rollout = runner.run(Request(1, 6, 0))
    assert rollout.segments == [Segment(0, 5), Segment(2, 7)]
    assert rollout.oldest_version == 5


def test_the_oldest_of_the_versions_that_frames_say_themselves_is_said() -> None:
    batch = stamped([7, 5, 6])
    made, oldest = frame_entries.take_stamped_versions(batch)
    assert oldest == 5
    assert made[keys.VERSION_KEY].tolist() == [7, 5, 6]


def test_padding_is_older_than_no_frame() -> None:
    batch = stamped([7, 6, 0])
    batch[keys.MASK_KEY] = torch.tensor([True, True, False])
    assert frame_entries.take_stamped_versions(batch)[1] == 6


def stamped(versions: list[int]) -> TensorDict:
    batch = TensorDict({"observation": torch.zeros(len(versions), 3), "next": {}}, batch_size=[len(versions)])
    batch[STAMP_KEY] = torch.tensor(versions)
    batch[STAMP] = torch.zeros(len(versions), dtype=torch.int64)
    return batch


def test_the_state_of_a_collector_without_a_policy_can_be_loaded() -> None:
    for policy in (None, random_actions):
        runner = build(CollectorConfig(envs.make_counted_steps, policy, 6, options={"trust_policy": True}), 1)
        runner.run(Request(1, 6, 0))
        state = runner.environment_state()
        other = build(CollectorConfig(envs.make_counted_steps, policy, 6, options={"trust_policy": True}), 2)
        other.load_environment_state(state)
        assert other.run(Request(1, 6, 0)).frames == 6


def test_a_saved_state_of_environments_does_not_change_later() -> None:
    runner = build(CollectorConfig(make_normalized, None, 6), 1)
    state = runner.environment_state()
    saved = copy.deepcopy(state)
    for transform in transforms_of(runner.collector.env):
        for buffer in transform.buffers():
            buffer.fill_(5.0)
    assert str(state) == str(saved)


def make_normalized() -> EnvBase:
    return TransformedEnv(envs.Counting(), ObservationNorm(0.5, 2.0, ["observation"]))


def random_actions(observed: TensorDictBase) -> TensorDictBase:
    """A policy that is no module."""
    return observed.set("action", torch.rand(2))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
def test_weights_that_come_in_mid_rollout_act_at_once_in_a_compiled_policy(loop: RolloutLoop, backend: str) -> None:
    environment = Publishing()
    options = {"compile_policy": {"backend": backend}}
    config = CollectorConfig(
        environment, envs.make_policy(1.0), 6, update_between_steps=True, rollout=loop, options=options
    )
    runner = build(config, 1)
    inbox = runner.inboxes[POLICY]
    newer = snapshots.take(snapshots.by_every_name(envs.make_policy(3.0)))
    environment.publish = lambda: inbox.offer(Offer(7, newer))
    for acted in ([1.0] * 2 + [3.0] * 4, [3.0] * 6, [3.0] * 6):  # the policy is compiled in a later call than its first
        rollout = runner.run(Request(1, 6, 0))
        assert rollout.batch is not None
        assert rollout.batch["action"][:, 0].tolist() == acted


class Recorded:
    """A CUDA graph for tests: calls its module once, and then computes what that call has recorded."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._called = False

    def __call__(self, observed: TensorDictBase) -> TensorDictBase:
        if not self._called:
            self._called = True
            return self._module(observed)
        return observed.set("action", self._module.module.value.expand(2).clone())


@pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
def test_weights_that_come_in_mid_rollout_act_at_once_in_a_recorded_policy(
    loop: RolloutLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collector, "_compile_wrapped_policy", lambda _, policy: Recorded(policy))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    environment = Publishing()
    config = CollectorConfig(
        environment,
        envs.make_policy(1.0),
        6,
        update_between_steps=True,
        rollout=loop,
        options={"cudagraph_policy": True},
    )
    runner = build(config, 1)
    inbox = runner.inboxes[POLICY]
    newer = snapshots.take(snapshots.by_every_name(envs.make_policy(3.0)))
    environment.publish = lambda: inbox.offer(Offer(7, newer))
    for acted, segments in (([1.0] * 2 + [3.0] * 4, [(0, 0), (2, 7)]), ([3.0] * 6, [(0, 7)])):
        rollout = runner.run(Request(1, 6, 0))
        assert rollout.batch is not None
        assert rollout.batch["action"][:, 0].tolist() == acted
        assert rollout.segments == [Segment(*segment) for segment in segments]
