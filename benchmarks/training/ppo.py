"""PPO on HalfCheetah-v5. The code is the same for batches of any collector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import torch
from gymnasium.vector import AutoresetMode
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.envs import EnvBase, GymWrapper, InitTracker, RewardSum, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from benchmarks.common.patience import answer_with_stacks

OBSERVATION, ACTION = 17, 6


@dataclass(frozen=True)
class Settings:
    """The hyperparameters of both sides. ``frames_per_batch`` counts the frames of all collectors together."""

    collectors: int = 2
    envs: int = 16  # per collector; they step together
    frames_per_batch: int = 4096
    epochs: int = 8
    minibatch: int = 256
    learning_rate: float = 6e-4
    gamma: float = 0.99
    lmbda: float = 0.95
    clip: float = 0.2
    reward_scale: float = 0.1


class MakeEnv:
    """A picklable factory of ``envs`` environments that step together."""

    def __init__(self, envs: int) -> None:
        self._envs = envs

    def __call__(self) -> EnvBase:
        answer_with_stacks()
        envs = gymnasium.make_vec(
            "HalfCheetah-v5",
            num_envs=self._envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
        )
        return TransformedEnv(GymWrapper(envs), Compose(InitTracker(), RewardSum()))


class Normalize(nn.Module):
    """Normalizes observations by the mean and variance of all observations that the learner has seen.

    The statistics are buffers, so that they are published with the weights.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(OBSERVATION, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(OBSERVATION, dtype=torch.float64))
        self.register_buffer("count", torch.tensor(1e-4, dtype=torch.float64))

    def learn(self, observations: Tensor) -> None:
        """Add the observations ``[frames, 17]`` to the statistics."""
        new = observations.to(torch.float64)
        count = self.count + len(new)
        delta = new.mean(0) - self.mean
        between = delta.square() * self.count * len(new) / count
        self.variance.copy_((self.variance * self.count + new.var(0, correction=0) * len(new) + between) / count)
        self.mean.add_(delta * len(new) / count)
        self.count.copy_(count)

    def forward(self, observation: Tensor) -> Tensor:
        normal = (observation.to(torch.float64) - self.mean) / (self.variance + 1e-8).sqrt()
        return normal.clamp(-10, 10).to(torch.float32)


def _mlp(outputs: int, last_gain: float) -> nn.Sequential:
    first, second, last = nn.Linear(OBSERVATION, 64), nn.Linear(64, 64), nn.Linear(64, outputs)
    for layer, gain in ((first, 2**0.5), (second, 2**0.5), (last, last_gain)):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last)


class Actor(nn.Module):
    """A network for a Gaussian over actions. Its standard deviation does not depend on the observation."""

    def __init__(self) -> None:
        super().__init__()
        self.normalize = Normalize()
        self.net = _mlp(ACTION, 0.01)
        self.log_scale = nn.Parameter(torch.full((ACTION,), -0.5))

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        loc = self.net(self.normalize(observation))
        return loc, self.log_scale.exp().expand_as(loc)


def _independent_normal(loc: Tensor, scale: Tensor) -> torch.distributions.Distribution:
    return torch.distributions.Independent(torch.distributions.Normal(loc, scale), 1)


def make_policy() -> ProbabilisticActor:
    return ProbabilisticActor(
        TensorDictModule(Actor(), in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=_independent_normal,
        return_log_prob=True,
    )


@dataclass(frozen=True)
class Update:
    """The state after one batch: the frames so far, and the rewards of the episodes that ended in the batch."""

    frames: int
    rewards: list[float]


def train(
    batches: Iterator[TensorDictBase], policy: ProbabilisticActor, settings: Settings, go_on: Callable[[], bool]
) -> Iterator[Update]:
    """Train on ``batches`` and yield an update after each, until ``go_on()`` is false.

    The collector publishes the weights of ``policy`` when the next batch is requested.
    """
    normalize = policy.get_submodule("module.0.module").normalize
    critic = ValueOperator(nn.Sequential(normalize, _mlp(1, 1.0)), in_keys=["observation"])
    advantage = GAE(gamma=settings.gamma, lmbda=settings.lmbda, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(policy, critic, clip_epsilon=settings.clip, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=settings.learning_rate, eps=1e-5)
    frames = 0
    for batch in batches:
        frames += batch.numel()
        rewards = _of_ended_episodes(batch)
        batch["next", "reward"] = batch["next", "reward"] * settings.reward_scale
        with torch.no_grad():
            advantage(batch)
        # PPO's ratios use the log-probabilities that the collectors acted with, even if their policy was older.
        _epochs(ppo, adam, batch.reshape(-1), settings)
        # Update the statistics only after the last step, because they change the policy that learns from the batch.
        normalize.learn(batch["observation"].reshape(-1, OBSERVATION))
        yield Update(frames, rewards)
        if not go_on():
            return


def _epochs(ppo: Any, adam: torch.optim.Optimizer, frames: TensorDictBase, settings: Settings) -> None:
    data = frames.select("observation", "action", "action_log_prob", "advantage", "value_target")
    for _ in range(settings.epochs):
        for index in torch.randperm(len(data)).split(settings.minibatch):
            losses = ppo(data[index])
            adam.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
            adam.step()


def _of_ended_episodes(batch: TensorDictBase) -> list[float]:
    done = batch["next", "done"].flatten()
    return [float(reward) for reward in batch["next", "episode_reward"].flatten()[done]]
