"""Test the code of the project. `python -m pytest` takes seconds and needs no fleet."""

from unittest.mock import MagicMock

import torch
from environment import make_env
from policy import make_policy
from train import train


def collect(policy, steps=10):
    """Return the frames of `policy` in the environment."""
    with torch.no_grad():
        return make_env().rollout(steps, policy, break_when_any_done=False)


def test_the_policy_acts_in_the_environment():
    frames = collect(make_policy())
    assert frames.shape[-1] == 10
    assert frames["next", "reward"].isfinite().all()


def test_the_training_function_trains_on_a_batch():
    policy = make_policy()
    collector = MagicMock(policy=policy)  # in place of the fleet's collector
    collector.__iter__.return_value = [collect(policy).unsqueeze(0)]
    train(collector, MagicMock(), first_frames=10)
    assert all(weights.isfinite().all() for weights in policy.parameters())
