"""The policy. The driver builds it once and publishes its weights to the collectors."""

import torch
from environment import make_env
from tensordict.nn import TensorDictModule
from torchrl.modules import MLP, ProbabilisticActor


def make_policy():
    """Return a policy that maps an observation to the probabilities of the actions."""
    env = make_env()
    observations, actions = env.observation_spec["observation"].shape[-1], env.action_spec.space.n
    env.close()
    net = MLP(in_features=observations, out_features=actions, num_cells=[64, 64], activation_class=torch.nn.Tanh)
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
