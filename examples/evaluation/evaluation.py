"""PPO on CartPole that ends after a good evaluation. Evaluators play whole episodes while the driver trains.

The training function has no goal. The goal is in `spec.evaluation`: the iteration ends once the mean return of an
evaluation reaches `stopWhen.returnMean`.
"""

import gymnasium
import numpy as np
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AutoresetMode
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import GymWrapper, InitTracker, TransformedEnv
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE


class DrawnCartPole(CartPoleEnv):
    """CartPole with its own drawing, because Gymnasium's drawing needs pygame."""

    def render(self):
        position, _, angle, _ = self.state
        picture = np.full((120, 320, 3), 255, np.uint8)
        x = int(160 + 60 * position)
        picture[110] = 0
        picture[100:110, max(0, x - 20) : x + 20] = 60
        for height in range(70):
            column = int(np.clip(x + height * np.sin(angle), 2, 317))
            picture[int(100 - height * np.cos(angle)), column - 2 : column + 3] = (202, 152, 101)
        return picture


gymnasium.register("DrawnCartPole-v1", entry_point=DrawnCartPole, max_episode_steps=500)


def make_env(num_envs, render_mode=None):
    """Return environments that step together: 16 for a collector, or 10 for an evaluator, one for each episode."""
    envs = gymnasium.make_vec(
        "DrawnCartPole-v1",
        num_envs=num_envs,
        vectorization_mode="sync",
        render_mode=render_mode,
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), InitTracker())


def mlp(outputs):
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def make_policy():
    """Return the policy. The driver calls this function once. Collectors and evaluators get the policy's weights."""
    return ProbabilisticActor(
        TensorDictModule(mlp(2), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, lr=2e-3, epochs=8, minibatch=256):
    """Train as long as there are batches."""
    torch.set_num_threads(1)  # the networks are too small for several threads
    policy = collector.policy
    critic = ValueOperator(mlp(1), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr, eps=1e-5)
    run.keep(critic=critic, optimizer=adam)

    for batch in collector:
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
        run.report(loss=loss.item(), **newest_evaluation(run))


def newest_evaluation(run):
    """Return the weights version of the newest result. A training function can read all results of evaluations."""
    results = run.evaluations()
    return {"evaluated_version": results[-1].version} if results else {}
