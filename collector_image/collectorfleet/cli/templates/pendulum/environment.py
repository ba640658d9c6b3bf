"""The environment that the collectors step."""

from torchrl.envs import Compose, GymEnv, InitTracker, RewardSum, TransformedEnv


def make_env():
    """Return a pendulum that sums the reward of each episode."""
    return TransformedEnv(GymEnv("Pendulum-v1"), Compose(InitTracker(), RewardSum()))
