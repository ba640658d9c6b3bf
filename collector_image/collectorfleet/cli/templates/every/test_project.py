"""Test that the policy can act in the environment. `python -m pytest` takes seconds and needs no fleet."""

import torch
from environment import make_env
from policy import make_policy


def test_the_policy_acts_in_the_environment():
    env = make_env()
    with torch.no_grad():
        frames = env.rollout(10, make_policy(), break_when_any_done=False)
    assert frames.shape[-1] == 10
    assert frames["next", "reward"].isfinite().all()
