"""PPO on a room of MiniGrid. The fleet's own image contains the package minigrid."""

from collections import deque

import gymnasium
import minigrid  # noqa: F401  (registers its environments)
import torch
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FlattenObservation
from minigrid.wrappers import ImgObsWrapper
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import Compose, GymWrapper, InitTracker, RewardSum, TransformedEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

OBSERVATION, ACTIONS = 7 * 7 * 3, 7


def make_env(num_envs, room="MiniGrid-Empty-5x5-v0"):
    """Return rooms that step together. The agent sees 7 x 7 tiles of its room, with 3 small numbers for each tile."""
    envs = gymnasium.make_vec(
        room,
        num_envs=num_envs,
        vectorization_mode="sync",
        wrappers=[ImgObsWrapper, FlattenObservation],
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), Compose(InitTracker(), RewardSum()))


class Net(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(OBSERVATION, 64), nn.Tanh(), nn.Linear(64, outputs))

    def forward(self, tiles):
        return self.layers(tiles.float() / 10)


def make_policy():
    return ProbabilisticActor(
        TensorDictModule(Net(ACTIONS), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, goal=0.85, episodes=50, lr=1e-3, epochs=4, minibatch=256):
    """Train until the last `episodes` episodes have a mean reward of `goal`. Shorter episodes get more reward."""
    critic = ValueOperator(Net(1), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(collector.policy, critic, entropy_coeff=0.01)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr)
    rewards = deque(maxlen=episodes)
    for batch in collector:
        ended = batch["next", "done"].squeeze(-1)
        rewards.extend(batch["next", "episode_reward"].squeeze(-1)[ended].tolist())
        mean = sum(rewards) / max(len(rewards), 1)
        if len(rewards) == episodes and mean >= goal:
            run.report(reward=mean)
            return
        with torch.no_grad():
            advantage(batch)
        frames = batch.reshape(-1)
        for _ in range(epochs):
            for index in torch.randperm(len(frames)).split(minibatch):
                losses = ppo(frames[index])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
        run.report(reward=mean, loss=loss.item())
    raise RuntimeError(f"mean reward {mean:.2f} after all frames, and the goal is {goal}")
