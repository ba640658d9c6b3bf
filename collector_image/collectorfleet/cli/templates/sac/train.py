"""Soft actor-critic with a replay buffer in the driver. No collector waits for another collector or for the driver."""

from collections import deque

import torch
from environment import make_env
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.modules import MLP, ValueOperator
from torchrl.objectives import SACLoss, SoftUpdate


def train(collector, run, *, goal=-250, episodes=20, first_frames=2000, frames_per_update=4, lr=1e-3):
    """Train until the last `episodes` episodes have a mean reward of `goal`, or until all frames are delivered."""
    torch.set_num_threads(1)  # the networks are too small to share a step between cores
    env = make_env()
    observations, actions = env.observation_spec["observation"].shape[-1], env.action_spec.shape[-1]
    env.close()
    net = MLP(in_features=observations + actions, out_features=1, num_cells=[128, 128])
    critic = ValueOperator(net, in_keys=["observation", "action"])
    sac = SACLoss(collector.policy, critic, num_qvalue_nets=2, target_entropy=-float(actions))
    sac.make_value_estimator(gamma=0.99)
    targets = SoftUpdate(sac, tau=0.005)
    adam = torch.optim.Adam(sac.parameters(), lr=lr)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(100_000), batch_size=256)
    rewards = deque(maxlen=episodes)
    run.keep(loss=sac, optimizer=adam)  # saved in checkpoints

    # The request for the next batch publishes the policy's new weights.
    for batch in collector:
        rewards.extend(batch["next", "episode_reward"][batch["next", "done"]].tolist())
        if rewards:
            run.report(reward=sum(rewards) / len(rewards))
        if len(rewards) == episodes and sum(rewards) / episodes >= goal:
            return
        buffer.extend(batch.reshape(-1))
        if len(buffer) < first_frames:
            continue
        for _ in range(batch.numel() // frames_per_update):
            losses = sac(buffer.sample())
            loss = losses["loss_actor"] + losses["loss_qvalue"] + losses["loss_alpha"]
            adam.zero_grad()
            loss.backward()
            adam.step()
            targets.step()
        run.report(loss=loss.item())
