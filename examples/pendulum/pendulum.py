"""SAC on Pendulum-v1: collectors write into one replay buffer, and the driver samples from it at the same time.

The buffer is a Ray actor that collectors and driver share, so frames do not pass through the driver's loop.
"""

from collections import deque
from functools import partial

import ray
import torch
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.envs import Compose, GymEnv, InitTracker, RewardSum, TransformedEnv
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import SACLoss, SoftUpdate


def make_env():
    return TransformedEnv(GymEnv("Pendulum-v1"), Compose(InitTracker(), RewardSum()))


def make_policy():
    net = nn.Sequential(MLP(in_features=3, out_features=2, num_cells=[128, 128]), NormalParamExtractor())
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": -2.0, "high": 2.0},
    )


def make_buffer(size):
    here = {f"node:{ray.util.get_node_ip_address()}": 0.001}  # in the driver's pod, because worker pods may be removed
    return ReplayBuffer(
        storage=partial(LazyTensorStorage, size),
        batch_size=256,
        service_backend="ray",
        service_backend_options={"remote_config": {"num_cpus": 0, "resources": here}},
    )


def train(collector, run, *, goal=-250, episodes=20, first_frames=2000, frames_per_update=4, lr=1e-3):
    """Train until the last `episodes` episodes have a mean reward of `goal`, or for all frames."""
    torch.set_num_threads(1)  # the networks are too small for several threads
    critic = ValueOperator(MLP(in_features=4, out_features=1, num_cells=[128, 128]), in_keys=["observation", "action"])
    sac = SACLoss(collector.policy, critic, num_qvalue_nets=2, target_entropy=-1.0)
    sac.make_value_estimator(gamma=0.99)
    targets = SoftUpdate(sac, tau=0.005)
    adam = torch.optim.Adam(sac.parameters(), lr=lr)
    rewards = deque(maxlen=episodes)
    run.keep(loss=sac, optimizer=adam, rewards=rewards)

    seen = 0
    for _ in collector:
        # The loop runs once for each batch that the collectors wrote. The buffer keeps all frames of the run.
        frames = len(collector.replay_buffer)
        latest = collector.replay_buffer[seen:frames]
        rewards.extend(latest["next", "episode_reward"][latest["next", "done"]].tolist())
        if rewards:
            run.report(reward=sum(rewards) / len(rewards))
        if len(rewards) == episodes and sum(rewards) / episodes >= goal:
            return
        for _ in range((frames - seen) // frames_per_update if frames >= first_frames else 0):
            losses = sac(collector.replay_buffer.sample())
            adam.zero_grad()
            (losses["loss_actor"] + losses["loss_qvalue"] + losses["loss_alpha"]).backward()
            adam.step()
            targets.step()
        seen = frames
