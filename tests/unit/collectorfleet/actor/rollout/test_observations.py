"""Images and stacks of frames, for all environments at once, are TorchRL's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import TensorDictModule
from tests.example_count import examples
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torchrl.envs import (
    CatFrames,
    Compose,
    EnvBase,
    GrayScale,
    InitTracker,
    ObservationNorm,
    SerialEnv,
    ToTensorImage,
    TransformedEnv,
)

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig

IMAGES = partial(make_chance, shape=(4, 5, 3), dtype="uint8")
Transforms = tuple[Callable[[], Any], ...]
# An environment, where it has its observation, what is done to that one by one, and along which axis it is stacked.
SEEN: dict[str, tuple[Callable[[], EnvBase], str, Transforms, int]] = {
    "numbers": (make_chance, "observation", (), -1),
    "normalized": (make_chance, "observation", (partial(ObservationNorm, 0.3, 1.7, in_keys=["observation"]),), -1),
    "images": (IMAGES, "pixels", (ToTensorImage,), -3),
    "gray images": (IMAGES, "pixels", (ToTensorImage, GrayScale), -3),
}


def made(name: str, together: int, stacked: Callable[[], CatFrames] | None, *, inner: bool, tracked: bool) -> EnvBase:
    make, _, alone, _ = SEEN[name]

    def one() -> EnvBase:
        return TransformedEnv(make(), Compose(*[transform() for transform in alone])) if inner and alone else make()

    env = SerialEnv(together, one) if together else one()
    outer = [transform() for transform in (() if inner else alone)]
    outer += [stacked()] if stacked else []
    outer += [InitTracker()] if tracked else []
    return TransformedEnv(env, Compose(*outer)) if outer else env


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(SEEN)), seed=st.integers(0, 2**20))
def test_frames_are_torchrls_entry_by_entry(data: st.DataObject, name: str, seed: int) -> None:
    _, key, _, axis = SEEN[name]
    stacked = None
    if data.draw(st.booleans()):
        padding = data.draw(st.sampled_from(["same", "constant"]))
        stacked = partial(
            CatFrames, data.draw(st.integers(2, 4)), axis, in_keys=[key], padding=padding, padding_value=0.5
        )
    inner, tracked = data.draw(st.booleans()), data.draw(st.booleans())
    make = partial(made, name, data.draw(st.integers(0, 3)), stacked, inner=inner, tracked=tracked)
    options = {"reset_at_each_iter": data.draw(st.booleans()), "max_frames_per_traj": data.draw(st.none() | st.just(5))}
    theirs, ours = sides(make, None, 24, seed, **options)
    assert ours.runner.loop == "Fast"
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    for asked in data.draw(st.lists(requests, min_size=1, max_size=4)):
        assert_equal(theirs.run(asked), ours.run(asked))
    if data.draw(st.booleans()):
        for side in (theirs, ours):
            side.do(lambda runner: runner.collector.reset())
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


def test_what_comes_after_a_stack_steps_with_the_environment() -> None:
    def make() -> EnvBase:
        stacked = CatFrames(3, -1, in_keys=["observation"])
        return TransformedEnv(make_chance(), Compose(stacked, ObservationNorm(0.0, 1.0, in_keys=["observation"])))

    policy = partial(TensorDictModule, nn.Linear(9, 2), ["observation"], ["action"])
    why = "ObservationNorm follows CatFrames"
    assert build(CollectorConfig(make, None, 12, policy_factory=policy), 0).loop.endswith(why)
