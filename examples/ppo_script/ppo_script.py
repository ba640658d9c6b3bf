"""PPO on CartPole as a plain script. It runs unchanged by hand, with `collectorfleet run`, and in a fleet's driver.

    python examples/ppo_script/ppo_script.py --goal 450

The script was written for TorchRL's RayCollector. Only the import of the collector had to change.
"""

import argparse
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

# Before: from torchrl.collectors.distributed import RayCollector
from collectorfleet import FleetCollector as RayCollector
from collectorfleet import current_run


def make_env():
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=16,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), Compose(InitTracker(), RewardSum()))


def net(outputs, last_gain):
    layers = [nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)]
    for layer, gain in zip(layers[::2], (2**0.5, 2**0.5, last_gain), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--goal", type=float, default=450)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    policy = ProbabilisticActor(
        TensorDictModule(net(2, last_gain=0.01), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
    critic = ValueOperator(net(1, last_gain=1.0), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=args.lr, eps=1e-5)
    current_run().keep(critic=critic, optimizer=adam)

    collector = RayCollector(
        make_env,
        policy,
        frames_per_batch=2048,
        total_frames=1_000_000,
        num_collectors=2,  # only by hand; in a fleet, the manifest sets the number
        sync=True,
        max_staleness=1,
        update_after_each_batch=True,
    )
    rewards = deque(maxlen=20)
    for batch in collector:
        ended = batch["next", "done"].squeeze(-1)
        rewards.extend(batch["next", "episode_reward"].squeeze(-1)[ended].tolist())
        mean = sum(rewards) / max(len(rewards), 1)
        current_run().report(reward=mean)
        if len(rewards) == 20 and mean >= args.goal:
            break
        with torch.no_grad():
            advantage(batch)
        frames = batch.reshape(-1)
        for _ in range(8):
            for index in torch.randperm(len(frames)).split(256):
                losses = ppo(frames[index])
                loss = losses["loss_objective"] + losses["loss_critic"]
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
    collector.shutdown()
    print(f"mean reward of the last 20 episodes: {mean:.0f}")


if __name__ == "__main__":
    main()
