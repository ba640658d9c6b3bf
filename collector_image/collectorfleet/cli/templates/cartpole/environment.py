"""The environments that the collectors step."""

import gymnasium
from gymnasium.vector import AutoresetMode
from torchrl.envs import Compose, GymWrapper, InitTracker, RewardSum, TransformedEnv


def make_env(num_envs=16):
    """Return `num_envs` CartPoles that step together in the collector's process. TorchRL resets ended episodes."""
    envs = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
    )
    return TransformedEnv(GymWrapper(envs, categorical_action_encoding=True), Compose(InitTracker(), RewardSum()))
