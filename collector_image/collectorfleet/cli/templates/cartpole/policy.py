"""The policy. The driver builds it once and publishes its weights to the collectors."""

import torch
from tensordict.nn import TensorDictModule
from torchrl.modules import MLP, ProbabilisticActor


def make_policy():
    """Return a policy that maps 4 observations to the probabilities of 2 actions."""
    net = MLP(in_features=4, out_features=2, num_cells=[64, 64], activation_class=torch.nn.Tanh)
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
