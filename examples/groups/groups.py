"""PPO on CartPole under several gravities: one policy that keeps the pole up on Earth and on Jupiter.

Each group of collectors has its own gravity. Each batch has frames of all groups, with the same entries.
"""

from collections import deque

import gymnasium
import torch
from gymnasium.vector import AutoresetMode
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import GymWrapper, InitTracker, RewardSum, TransformedEnv
from torchrl.envs.transforms import Compose
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE


def make_env(num_envs, gravity=9.8):
    """Return environments that step together in the collector's process. TorchRL resets environments that are done."""
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    for env in envs.envs:
        env.unwrapped.gravity = gravity
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), Compose(InitTracker(), RewardSum()))


def mlp(outputs, last_gain):
    layers = [nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2**0.5, 2**0.5, last_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def make_policy():
    """Return the policy. The driver calls this function once, and the collectors get the policy's weights."""
    return ProbabilisticActor(
        TensorDictModule(mlp(2, last_gain=0.01), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, goal=450, episodes=20, lr=2e-3, epochs=8, minibatch=256):
    """Train until the last `episodes` episodes that ended in the training data have a mean reward of `goal`."""
    torch.set_num_threads(1)  # the networks are too small for several threads
    policy = collector.policy
    critic = ValueOperator(mlp(1, last_gain=1.0), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr, eps=1e-5)
    rewards = deque(maxlen=episodes)
    run.keep(critic=critic, optimizer=adam)  # saved in checkpoints, if the run writes any

    # A batch has the shape [collectors, environments, time]. Requesting the next batch publishes the new weights.
    for batch in collector:
        rewards.extend(rewards_of_ended_episodes(batch))
        mean_reward = sum(rewards) / max(len(rewards), 1)
        if len(rewards) == episodes and mean_reward >= goal:
            run.report(reward=mean_reward)
            return

        with torch.no_grad():
            advantage(batch)
        frames = batch.reshape(-1)
        for _ in range(epochs):
            for index in torch.randperm(len(frames)).split(minibatch):
                losses = ppo(frames[index])
                loss = losses["loss_objective"] + losses["loss_critic"]
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
        run.report(reward=mean_reward, loss=loss.item())

    raise RuntimeError(f"mean reward {mean_reward:.0f} after all frames, and the goal is {goal}")


def rewards_of_ended_episodes(batch):
    """Return the total rewards of the episodes that ended in this batch, oldest first."""
    done = batch["next", "done"].squeeze(-1)
    total = batch["next", "episode_reward"].squeeze(-1)
    by_time = [x.flatten(0, -2).transpose(0, 1) for x in (done, total)]
    return by_time[1][by_time[0]].tolist()
