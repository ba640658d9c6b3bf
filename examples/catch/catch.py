"""PPO from pixels: catch a falling ball. Collectors run a convolutional policy on a fraction of a GPU.

Collectors send frames as bytes, 12 kB each, and the policy converts bytes to floats. Without a GPU, everything runs on
the CPU.
"""

from collections import deque

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import Compose, GymWrapper, InitTracker, RewardSum, TransformedEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

CELLS, PIXELS = 8, 64


class Catch(gymnasium.Env):
    """A ball falls one cell per step, and actions move a paddle below. The reward is 1 for a caught ball, else 0."""

    observation_space = gymnasium.spaces.Box(0, 255, (3, PIXELS, PIXELS), np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.row = 0
        self.ball, self.paddle = self.np_random.integers(CELLS, size=2)
        return self.picture(), {}

    def step(self, action):
        self.row += 1
        self.paddle = np.clip(self.paddle + action - 1, 0, CELLS - 1)
        ended = self.row == CELLS - 1
        reward = float(self.ball == self.paddle) if ended else 0.0
        return self.picture(), reward, ended, False, {}

    def picture(self):
        cells = np.zeros((3, CELLS, CELLS), np.uint8)
        cells[0, self.row, self.ball] = 255
        cells[1, CELLS - 1, self.paddle] = 255
        side = PIXELS // CELLS
        return cells.repeat(side, axis=1).repeat(side, axis=2)


def make_env(num_envs):
    envs = SyncVectorEnv([Catch] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), Compose(InitTracker(), RewardSum()))


class Eyes(nn.Module):
    """Maps pictures of bytes to `outputs` numbers each."""

    def __init__(self, outputs):
        super().__init__()
        self.net = nn.Sequential(
            *(nn.Conv2d(3, 16, kernel_size=8, stride=8), nn.ReLU(), nn.Flatten()),
            *(nn.Linear(16 * CELLS**2, 64), nn.ReLU(), nn.Linear(64, outputs)),
        )

    def forward(self, pixels):
        pictures = pixels.flatten(0, -4).float() / 255
        return self.net(pictures).unflatten(0, pixels.shape[:-3])


def make_policy():
    return ProbabilisticActor(
        TensorDictModule(Eyes(3), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, goal=0.9, episodes=500, lr=1e-3, epochs=4, minibatch=512):
    """Train until `goal` of the last `episodes` balls were caught, or for all frames."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    policy = collector.policy.to(device)
    critic = ValueOperator(Eyes(1), in_keys=["observation"]).to(device)
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr)
    caught = deque(maxlen=episodes)
    run.keep(critic=critic, optimizer=adam, caught=caught)

    for batch in collector:
        ended = batch["next", "done"].flatten()
        caught.extend(batch["next", "episode_reward"].flatten()[ended].tolist())
        run.report(caught=sum(caught) / len(caught))
        if len(caught) == episodes and sum(caught) / episodes >= goal:
            return
        here = batch.to(device)
        with torch.no_grad():
            advantage(here)
        frames = here.reshape(-1)
        for _ in range(epochs):
            for index in torch.randperm(len(frames)).split(minibatch):
                losses = ppo(frames[index])
                adam.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                adam.step()
