"""What a collector says of the observations that its first episodes began with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tensordict import TensorDict
from tests import envs
from torchrl.envs import EnvBase, SerialEnv, TransformedEnv
from torchrl.envs.transforms import CatFrames

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.first_starts import FirstStarts
from collectorfleet.messages import Request

EPISODES = 12
STEPS = 3  # of an episode


def said(make: Callable[[], EnvBase], frames: int, **options: Any) -> list[str]:
    """All that is said in so many episodes, of rollouts with so many frames."""
    runner = build(CollectorConfig(make, envs.make_noisy_policy(), frames, options=options), 1)
    together = runner.collector.n_env
    rollouts = -(-EPISODES * STEPS * together // frames)
    found = [runner.run(Request(number, frames, 0)).first_starts for number in range(rollouts)]
    runner.collector.shutdown()
    return [one for one in found if one is not None]


def several(*seeds: int) -> SerialEnv:
    return SerialEnv(len(seeds), [partial(envs.make_starting, seed=seed) for seed in seeds])


def stacked() -> EnvBase:
    return TransformedEnv(envs.make_starting(seed=1), CatFrames(2, dim=-1, in_keys=["observation"]))


@pytest.mark.filterwarnings("ignore:split_trajs=True produces")
def test_it_is_said_once_and_is_the_same_wherever_rollouts_end() -> None:
    make = partial(envs.make_starting, seed=1)
    found = [said(make, frames) for frames in (1, 4, 36)]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 1
    assert found[0] == said(make, 6, split_trajs=True)


def test_another_seed_is_said_otherwise() -> None:
    digests = [said(partial(envs.make_starting, seed=seed), 12)[0] for seed in range(3)]
    assert len(set(digests)) == 3


def test_environments_of_one_seed_that_are_stepped_together_are_said_as_the_first_of_them() -> None:
    assert said(partial(several, 1, 1, 1), 18) == said(partial(envs.make_starting, seed=1), 6)


def test_environments_of_several_seeds_are_looked_at_together() -> None:
    one, same, other = (said(partial(several, *seeds), 18) for seeds in ((1, 2, 3), (1, 2, 3), (1, 2, 4)))
    assert one == same != other


def test_what_transforms_make_of_observations_counts() -> None:
    assert len(said(stacked, 12)) == 1


@pytest.mark.parametrize(
    "make",
    [envs.make_counting, partial(envs.make_starting, states=2), partial(several, 1, 1, 2)],
    ids=["always the same", "one of two states", "two of three alike"],
)
def test_nothing_is_said_where_starts_come_again(make: Callable[[], EnvBase]) -> None:
    assert said(make, 12) == []


def test_nothing_is_said_where_frames_do_not_say_where_trajectories_begin() -> None:
    assert FirstStarts().digest(TensorDict({"observation": [[1.0]], "next": {"observation": [[2.0]]}}, [1])) is None


def test_nothing_is_said_where_a_postproc_leaves_out_what_follows() -> None:
    assert said(envs.make_counting, 8, postproc=lambda batch: batch.exclude("next")) == []
