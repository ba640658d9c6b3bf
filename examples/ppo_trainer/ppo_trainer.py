"""PPO on CartPole with TorchRL's PPOTrainer. The fleet is the trainer's collector."""

import gymnasium
import torch
from gymnasium.vector import AutoresetMode
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import GymWrapper
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.trainers.algorithms import PPOTrainer


def make_env():
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=16,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return GymWrapper(envs, categorical_action_encoding=True)


def make_policy():
    net = MLP(in_features=4, out_features=2, num_cells=[64, 64], activation_class=torch.nn.Tanh)
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, goal=450, lr=2e-3):
    """Train until the last 100 episodes have a mean return of `goal`, or for all frames."""
    net = MLP(in_features=4, out_features=1, num_cells=[64, 64], activation_class=torch.nn.Tanh)
    critic = ValueOperator(net, in_keys=["observation"])
    loss = ClipPPOLoss(collector.policy, critic, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(loss.parameters(), lr=lr, eps=1e-5)
    run.keep(loss=loss, optimizer=adam)
    trainer = PPOTrainer(
        collector=collector,
        total_frames=collector.total_frames,
        frame_skip=1,
        optim_steps_per_batch=None,  # until each frame of the buffer was sampled
        num_epochs=8,
        loss_module=loss,
        optimizer=adam,
        clip_norm=0.5,
        replay_buffer=TensorDictReplayBuffer(
            storage=LazyTensorStorage(collector.frames_per_batch), sampler=SamplerWithoutReplacement(), batch_size=256
        ),
        logger=run.logger(),
        log_interval=0,
        progress_bar=False,
    )

    def stop_at_the_goal(_batch):
        episodes = collector.status().progress.episodes
        if episodes and episodes.averaged == 100 and episodes.return_mean >= goal:
            trainer.request_stop()

    trainer.register_op("post_steps_log", stop_at_the_goal)
    trainer.train()
