"""Proximal policy optimization as a program. `python train.py` runs it by hand, with two collectors on a local Ray."""

import argparse
from collections import deque

import torch
from environment import make_env
from policy import make_policy
from torchrl.modules import MLP, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from collectorfleet import FleetCollector, current_run


def make_critic():
    """Return a network that estimates the value of an observation."""
    env = make_env()
    observations = env.observation_spec["observation"].shape[-1]
    env.close()
    net = MLP(in_features=observations, out_features=1, num_cells=[64, 64], activation_class=torch.nn.Tanh)
    return ValueOperator(net, in_keys=["observation"])


def train(collector, run, goal=450):
    """Train until the last 20 episodes have a mean reward of `goal`, or until all frames are delivered."""
    critic = make_critic()
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(collector.policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=2e-3, eps=1e-5)
    rewards = deque(maxlen=20)
    run.keep(critic=critic, optimizer=adam)  # saved in checkpoints

    for batch in collector:
        rewards.extend(batch["next", "episode_reward"][batch["next", "done"]].tolist())
        mean_reward = sum(rewards) / max(len(rewards), 1)
        run.report(reward=mean_reward)
        if len(rewards) == 20 and mean_reward >= goal:
            break
        with torch.no_grad():
            advantage(batch)
        frames = batch.reshape(-1)
        for _ in range(8):
            for index in torch.randperm(len(frames)).split(256):
                losses = ppo(frames[index])
                adam.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"]).backward()
                torch.nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
    print(f"mean reward of the last {len(rewards)} episodes: {mean_reward:.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--goal", type=float, default=450, help="mean reward of the last 20 episodes to stop at")
    parser.add_argument("--total-frames", type=int, default=1_000_000)
    args = parser.parse_args()

    collector = FleetCollector(
        make_env,
        make_policy(),
        frames_per_batch=2048,
        total_frames=args.total_frames,
        num_collectors=2,  # without a fleet; in a fleet, the manifest sets the number
        sync=True,
        max_staleness=1,
        update_after_each_batch=True,
    )
    train(collector, current_run(), args.goal)
    collector.shutdown()


if __name__ == "__main__":
    main()
