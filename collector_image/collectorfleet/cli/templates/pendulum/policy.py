"""The policy. The driver builds it once and publishes its weights to the collectors."""

from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal


def make_policy():
    """Return a policy that maps 3 observations to the distribution of a torque from -2 to 2."""
    net = nn.Sequential(MLP(in_features=3, out_features=2, num_cells=[128, 128]), NormalParamExtractor())
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": -2.0, "high": 2.0},
    )
