"""Proximal policy optimization. The collectors make the next batch while this function trains on the last batch."""

from collections import deque

import torch
from environment import make_env
from torchrl.modules import MLP, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE


def make_critic():
    """Return a network that estimates the value of an observation."""
    env = make_env()
    observations = env.observation_spec["observation"].shape[-1]
    env.close()
    net = MLP(in_features=observations, out_features=1, num_cells=[64, 64], activation_class=torch.nn.Tanh)
    return ValueOperator(net, in_keys=["observation"])


def train(collector, run, *, goal=450, episodes=20, lr=2e-3, epochs=8, minibatch=256):
    """Train until the last `episodes` episodes have a mean reward of `goal`, or until all frames are delivered."""
    torch.set_num_threads(1)  # the networks are too small to share a step between cores
    critic = make_critic()
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(collector.policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr, eps=1e-5)
    rewards = deque(maxlen=episodes)
    run.keep(critic=critic, optimizer=adam)  # saved in checkpoints

    # A batch has the shape [collectors, environments, time]. The request for the next batch publishes the policy's new
    # weights.
    for batch in collector:
        rewards.extend(batch["next", "episode_reward"][batch["next", "done"]].tolist())
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
                torch.nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
        run.report(reward=mean_reward, loss=loss.item())
