"""PPO on a combination lock that nobody opens by chance, and a curriculum that makes it longer step by step.

The lock has 20 positions with one right choice of two at each. A wrong choice ends the episode, and the only reward is
for the last position of the level. By chance, one episode in a million opens all 20. One in eight opens three.
"""

import gymnasium
import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import GymWrapper
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

POSITIONS = 20
RIGHT = np.random.default_rng(7).integers(2, size=POSITIONS)


class Lock(gymnasium.Env):
    """Observes the position, one-hot. The reward is 1 for `level` open positions, or for each of them if `counts`."""

    def __init__(self, level, counts):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (POSITIONS + 1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.level, self.counts, self.position = level, counts, 0

    def set_parameters(self, level):
        """What the curriculum changes; an environment takes it when it is reset."""
        self.level = level

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.position = 0
        return self.observed(), {}

    def step(self, action):
        right = action == RIGHT[self.position]
        self.position += int(right)
        is_open = self.position == self.level
        reward = float(right) if self.counts else float(is_open)
        return self.observed(), reward, bool(is_open or not right), False, {}

    def observed(self):
        return np.eye(POSITIONS + 1, dtype=np.float32)[self.position]


def make_env(level=POSITIONS, counts=False):
    return GymWrapper(Lock(level, counts), categorical_action_encoding=True)


def curriculum(result, parameters, *, ahead):
    """Called after each evaluation, which counts the positions that the policy opens: a few more are next."""
    level = min(POSITIONS, round(result.mean) + ahead)
    return {"level": level} if level > parameters.get("level", 0) else None


def numbers(outputs):
    """So many numbers for each position, which are 0 at first: nothing hints at the right choice."""
    layer = nn.Linear(POSITIONS + 1, outputs, bias=False)
    nn.init.zeros_(layer.weight)
    return layer


def make_policy(seed=0):
    torch.manual_seed(seed)  # of the driver, and so of the fleet
    return ProbabilisticActor(
        TensorDictModule(numbers(2), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, lr=2e-2, epochs=4, minibatch=256):
    torch.set_num_threads(1)
    policy = collector.policy
    critic = ValueOperator(numbers(1), in_keys=["observation"])
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_coeff=0.05, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr)
    run.keep(critic=critic, optimizer=adam)

    for batch in collector:
        with torch.no_grad():
            advantage(batch)
        frames = batch.reshape(-1)
        for _ in range(epochs):
            for index in torch.randperm(len(frames)).split(minibatch):
                losses = ppo(frames[index])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                adam.zero_grad()
                loss.backward()
                adam.step()
        # Frames say which parameters their episode was played with.
        versions = batch["collector", "environment_parameters_version"]
        level = collector.environment_parameters().get("level", 3)
        run.report(loss=loss.item(), level=level, oldest_parameters=versions.min().item())
