"""PPO on HalfCheetah-v5: collectors step batches of environments, and the driver trains.

The driver also learns the normalization of observations. The normalization is part of the policy, so the collectors
get it with the weights.
"""

from collections import deque

import gymnasium
import torch
from gymnasium.vector import AutoresetMode
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import Compose, GymWrapper, InitTracker, RewardSum, TransformedEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

OBSERVATION, ACTION = 17, 6


def make_env(num_envs):
    envs = gymnasium.make_vec(
        "HalfCheetah-v5",
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return TransformedEnv(GymWrapper(envs), Compose(InitTracker(), RewardSum()))


class Normalize(nn.Module):
    """Normalizes observations by the mean and variance of all observations so far."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(OBSERVATION, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(OBSERVATION, dtype=torch.float64))
        self.register_buffer("count", torch.tensor(1e-4, dtype=torch.float64))

    def learn(self, observations):
        new = observations.double()
        count = self.count + len(new)
        delta = new.mean(0) - self.mean
        between = delta.square() * self.count * len(new) / count
        self.variance.copy_((self.variance * self.count + new.var(0, correction=0) * len(new) + between) / count)
        self.mean.add_(delta * len(new) / count)
        self.count.copy_(count)

    def forward(self, observation):
        normal = (observation.double() - self.mean) / (self.variance + 1e-8).sqrt()
        return normal.clamp(-10, 10).float()


def mlp(outputs, last_gain):
    layers = [nn.Linear(OBSERVATION, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2**0.5, 2**0.5, last_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


class Actor(nn.Module):
    """A Gaussian over actions. Its standard deviation does not depend on the observation."""

    def __init__(self):
        super().__init__()
        self.normalize = Normalize()
        self.net = mlp(ACTION, last_gain=0.01)
        self.log_scale = nn.Parameter(torch.full((ACTION,), -0.5))

    def forward(self, observation):
        loc = self.net(self.normalize(observation))
        return loc, self.log_scale.exp().expand_as(loc)


def gaussian(loc, scale):
    return torch.distributions.Independent(torch.distributions.Normal(loc, scale), 1)


def make_policy():
    return ProbabilisticActor(
        TensorDictModule(Actor(), in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=gaussian,
        return_log_prob=True,
    )


def train(collector, run, *, goal=3000, episodes=20, lr=6e-4, epochs=8, minibatch=256):
    """Train until the last `episodes` episodes have a mean reward of `goal`, or for all frames."""
    actor = collector.policy.get_submodule("module.0.module")
    critic = ValueOperator(mlp(1, last_gain=1.0), in_keys=["normal"])
    normalize = TensorDictModule(actor.normalize, in_keys=["observation"], out_keys=["normal"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(collector.policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr, eps=1e-5)
    rewards = deque(maxlen=episodes)
    run.keep(critic=critic, optimizer=adam, rewards=rewards)

    for batch in collector:
        ended = batch["next", "done"].flatten()
        rewards.extend(batch["next", "episode_reward"].flatten()[ended].tolist())
        mean_reward = sum(rewards) / len(rewards) if rewards else float("nan")
        if rewards:
            run.report(reward=mean_reward)
        if len(rewards) == episodes and mean_reward >= goal:
            return
        batch["next", "reward"] *= 0.1
        with torch.no_grad():
            normalize(batch)
            normalize(batch["next"])
            advantage(batch)
        frames = batch.reshape(-1).select(
            "observation", "normal", "action", "action_log_prob", "advantage", "value_target"
        )
        for _ in range(epochs):
            for index in torch.randperm(len(frames)).split(minibatch):
                losses = ppo(frames[index])
                adam.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"]).backward()
                nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
        # Change the normalization only after the last step, because the steps compare the policy with the policy
        # that collected the batch.
        actor.normalize.learn(batch["observation"].reshape(-1, OBSERVATION))
