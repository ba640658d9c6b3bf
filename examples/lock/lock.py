"""PPO on a combination lock that is too long to open by chance. A curriculum makes the lock longer step by step.

The lock has 20 positions. At each position, one of two choices is right, and a wrong choice ends the episode. The only
reward is for the last position of the level. With random choices, one episode in a million opens all 20 positions, and
one in eight opens three.
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
    """Observes the position, one-hot. The reward is 1 for the last of `level` positions, or for each if `counts`."""

    def __init__(self, level, counts):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (POSITIONS + 1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.level, self.counts, self.position = level, counts, 0

    def set_parameters(self, level):
        """Set the level that the curriculum chose. CollectorFleet calls this method when it resets the environment."""
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
    """Return the next level: the positions that the policy opened, plus `ahead`. None keeps the present level."""
    level = min(POSITIONS, round(result.mean) + ahead)
    return {"level": level} if level > parameters.get("level", 0) else None


def numbers(outputs):
    """Return a layer with `outputs` numbers for each position. All numbers start at 0, so no choice is preferred."""
    layer = nn.Linear(POSITIONS + 1, outputs, bias=False)
    nn.init.zeros_(layer.weight)
    return layer


def make_policy(seed=0):
    torch.manual_seed(seed)  # the fleet derives its seeds from this seed
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
        # Each frame has the version of the parameters of its episode.
        versions = batch["collector", "environment_parameters_version"]
        level = collector.environment_parameters().get("level", 3)
        run.report(loss=loss.item(), level=level, oldest_parameters=versions.min().item())
