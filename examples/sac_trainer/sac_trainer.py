"""SAC on Pendulum-v1 with TorchRL's SACTrainer. The fleet is the trainer's collector."""

import torch
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import GymEnv
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import SACLoss, SoftUpdate
from torchrl.trainers.algorithms import SACTrainer


def make_env():
    return GymEnv("Pendulum-v1")


def make_policy():
    net = nn.Sequential(MLP(in_features=3, out_features=2, num_cells=[128, 128]), NormalParamExtractor())
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": -2.0, "high": 2.0},
    )


def train(collector, run, *, goal=-250, lr=1e-3):
    """Train until the last 100 episodes have a mean return of `goal`, or for all frames."""
    torch.set_num_threads(1)  # the networks are too small for several threads
    critic = ValueOperator(MLP(in_features=4, out_features=1, num_cells=[128, 128]), in_keys=["observation", "action"])
    loss = SACLoss(collector.policy, critic, num_qvalue_nets=2)
    loss.make_value_estimator(gamma=0.99)
    targets = SoftUpdate(loss, tau=0.005)
    adam = torch.optim.Adam(loss.parameters(), lr=lr)
    run.keep(loss=loss, optimizer=adam)
    trainer = SACTrainer(
        collector=collector,
        total_frames=collector.total_frames,
        frame_skip=1,
        optim_steps_per_batch=collector.frames_per_batch // 4,
        loss_module=loss,
        optimizer=adam,
        target_net_updater=targets,
        replay_buffer=TensorDictReplayBuffer(storage=LazyTensorStorage(100_000), batch_size=256),
        logger=run.logger(),
        log_interval=0,
        episode_reward_key="reward",
        progress_bar=False,
    )

    def stop_at_the_goal(_batch):
        episodes = collector.status().progress.episodes
        if episodes and episodes.averaged == 100 and episodes.return_mean >= goal:
            trainer.request_stop()

    trainer.register_op("post_steps_log", stop_at_the_goal)
    trainer.train()
