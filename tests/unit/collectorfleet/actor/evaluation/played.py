"""An evaluator in this process: its environment and policy, and versions to play."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from tests import envs
from torch import nn
from torchrl.data import Binary, Composite, Unbounded
from torchrl.envs import EnvBase

from collectorfleet.actor.build import build_player
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.evaluation.player import EpisodePlayer
from collectorfleet.actor.inbox import Offer
from collectorfleet.codec import normalization as codec
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.messages import Episodes, Request
from collectorfleet.normalization import Normalization


def player(create_env: Any = envs.make_counting, policy: Any = None, **config: Any) -> EpisodePlayer:
    policy = envs.make_policy() if policy is None else policy
    return build_player(CollectorConfig(create_env, policy, 0, plays_episodes=True, **config))


def offer(version: int, policy: nn.Module | None = None, normalization: Normalization | None = None) -> Offer:
    taken = snapshots.EMPTY_SNAPSHOT if policy is None else snapshots.take(snapshots.tensors_of(policy))
    return Offer(version, taken, None if normalization is None else codec.encode(normalization))


def play(made: EpisodePlayer, seed: int = 0, offered: Offer | None = None) -> Episodes:
    """The episodes of a seed, with the version that is offered, or with version 1, which is loaded first."""
    has = made.inboxes["policy"]._version
    if offered is None and not has:
        offered = offer(1)
    version = has if offered is None else offered.version
    rollout = made.run(Request(1, 0, version, version, seed=seed), offered)
    assert rollout.oldest_version == version
    assert rollout.episodes is not None
    assert rollout.frames == sum(rollout.episodes.lengths)
    return rollout.episodes


class Agents(EnvBase):
    """Agents that get rewards of 1, 2, ... in each step and are done after different numbers of steps.

    Args:
        lengths: after how many steps each agent is done.
        says: whether there is a ``done`` of the whole environment, once all agents are.
    """

    def __init__(self, lengths: tuple[int, ...], *, says: bool) -> None:
        super().__init__(device="cpu", batch_size=torch.Size([]))
        count = len(lengths)
        self._lengths, self._says, self._count = torch.tensor(lengths).unsqueeze(-1), says, 0
        self._over = torch.zeros(count, 1, dtype=torch.bool)
        agents = torch.Size([count])
        self.observation_spec = Composite(
            agents=Composite(observation=Unbounded(shape=(count, 3)), shape=agents), shape=()
        )
        self.action_spec = Composite(agents=Composite(action=Unbounded(shape=(count, 2)), shape=agents), shape=())
        self.reward_spec = Composite(agents=Composite(reward=Unbounded(shape=(count, 1)), shape=agents), shape=())
        done = Binary(shape=(count, 1), dtype=torch.bool)
        one = Binary(shape=(1,), dtype=torch.bool)
        self.done_spec = (
            Composite(done=one, terminated=one.clone(), shape=())
            if says
            else Composite(agents=Composite(done=done, terminated=done.clone(), shape=agents), shape=())
        )

    def _observed(self) -> TensorDict:
        shape = self._lengths.shape[:1]
        return TensorDict({"observation": torch.zeros(*shape, 3)}, shape)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        if tensordict is None or not tensordict.keys():
            self._count = 0
        return TensorDict({"agents": self._observed()}, [])

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        del tensordict
        self._count += 1
        agents = self._observed()
        count = len(agents)
        agents["reward"] = torch.arange(1.0, count + 1).unsqueeze(-1)
        done = self._count % self._lengths == 0  # an agent that was done begins anew
        if self._says:
            over = (self._count >= self._lengths).all().view(1)
            return TensorDict({"agents": agents, "done": over, "terminated": over.clone()}, [])
        agents["done"], agents["terminated"] = done, done.clone()
        return TensorDict({"agents": agents}, [])

    def _set_seed(self, seed: int | None) -> None:
        pass
