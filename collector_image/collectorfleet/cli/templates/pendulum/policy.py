"""The policy. The driver builds it once and publishes its weights to the collectors."""

from environment import make_env
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal


def make_policy():
    """Return a policy that maps an observation to the distribution of an action, such as a torque from -2 to 2."""
    env = make_env()
    observations, action_spec = env.observation_spec["observation"].shape[-1], env.action_spec
    env.close()
    mlp = MLP(in_features=observations, out_features=2 * action_spec.shape[-1], num_cells=[128, 128])
    net = nn.Sequential(mlp, NormalParamExtractor())
    return ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        distribution_kwargs={"low": action_spec.space.low, "high": action_spec.space.high},
    )
