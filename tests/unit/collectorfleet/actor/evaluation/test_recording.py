"""Episodes that are recorded: what they look like, and that nothing else of them changes."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.pictures import SIZE, make_pictured, make_pictured_batch
from tests.unit.collectorfleet.actor.evaluation.played import offer, player
from torchrl.envs import SerialEnv

from collectorfleet.actor.evaluation.player import EpisodePlayer
from collectorfleet.actor.finished_rollout import Rollout
from collectorfleet.codec.video import decode
from collectorfleet.messages import Recorded, Request


def drawn(tensordict: TensorDictBase) -> TensorDictBase:
    """Act by the generator of torch, which a renderer may use, too."""
    shape = tensordict["observation"].shape[:-1]
    return tensordict.set("action", torch.rand(*shape, 1))


def rollout(made: EpisodePlayer, recorded: int, seed: int = 3) -> Rollout:
    return made.run(Request(1, 0, 1, 1, seed=seed, recorded=recorded), offer(1))


def recorded(create: Any, count: int = 1, **config: Any) -> Recorded:
    found = rollout(player(create, drawn, **config), count).recorded
    assert found is not None
    return found


def levels(data: bytes) -> list[int]:
    """The brightness of each frame."""
    frames, _ = decode(data)
    return [round(float(frame.mean())) for frame in frames]


# ---------------------------------------------------------------- frames
def test_a_video_shows_each_step_from_the_reset_to_the_end() -> None:
    (data,) = recorded(partial(make_pictured, length=6)).files
    assert levels(data) == pytest.approx([0, 20, 40, 60, 80, 100, 120], abs=4)
    frames, _ = decode(data)
    assert frames.shape[1:3] == SIZE


def test_an_entry_of_the_observations_is_recorded_in_place_of_render() -> None:
    create = partial(make_pictured, length=6, render_mode=None, has_pixels=True)
    (data,) = recorded(create, pixel_key="pixels").files
    assert levels(data) == pytest.approx([0, 20, 40, 60, 80, 100, 120], abs=4)


def test_of_environments_that_are_stepped_together_the_first_ones_are_recorded_to_their_own_ends() -> None:
    found = recorded(partial(make_pictured_batch, lengths=(2, 6, 4)), count=2)
    assert [len(levels(data)) for data in found.files] == [3, 7]


def test_no_more_episodes_are_recorded_than_an_evaluator_steps_together() -> None:
    assert len(recorded(make_pictured, count=5).files) == 1


def test_serial_environments_are_recorded_as_well() -> None:
    creators = [partial(make_pictured, length=length) for length in (2, 6)]
    found = recorded(partial(SerialEnv, 2, creators), count=2)
    assert [len(levels(data)) for data in found.files] == [3, 7]


@pytest.mark.parametrize("kind", ["gray", "alpha", "floats first", "tensor"])
def test_frames_of_other_forms_are_taken_as_well(kind: str) -> None:
    (data,) = recorded(partial(make_pictured, length=3, kind=kind)).files
    assert levels(data) == pytest.approx([0, 20, 40, 60], abs=4)


def test_an_episode_that_nobody_asked_to_record_is_not() -> None:
    assert rollout(player(make_pictured, drawn), 0).recorded is None


# ---------------------------------------------------------------- results stay the same
def test_a_recorded_episode_has_the_same_result_though_its_renderer_draws_random_numbers() -> None:
    create = partial(make_pictured, length=20, draws=True)
    alone, watched = (rollout(player(create, drawn), count) for count in (0, 1))
    assert watched.recorded is not None
    assert len(watched.recorded.files) == 1
    assert alone.episodes == watched.episodes


def test_the_generators_go_on_where_they_were() -> None:
    """What the environment and the policy draw after a frame does not depend on the frame."""
    after = []
    for count in (0, 1):
        rollout(player(partial(make_pictured, length=5, draws=True), drawn), count)
        after.append((random.random(), np.random.rand(), torch.rand(1).item()))
    assert after[0] == after[1]


# ---------------------------------------------------------------- renderers that fail
@pytest.mark.parametrize(
    ("create", "config", "sentence"),
    [
        pytest.param(
            partial(make_pictured, render_mode=None),
            {},
            "render() returned None; set render_mode: rgb_array in evaluation.environment.kwargs, or set pixelKey to "
            "an entry of the observations",
            id="no render mode",
        ),
        pytest.param(
            envs.make_counting,
            {},
            "the environment has no render(); set pixelKey to an entry of its observations",
            id="no render",
        ),
        pytest.param(
            make_pictured,
            {"pixel_key": "pixels"},
            "pixelKey: the observations have no entry pixels; they have done, observation, terminated, truncated",
            id="no such entry",
        ),
        pytest.param(
            make_pictured,
            {"pixel_key": "observation"},
            "pixelKey: an environment's entry observation has the shape [1]; use [height, width], "
            "[height, width, channels] or [channels, height, width], with 1 or 3 channels",
            id="an entry that is no picture",
        ),
        pytest.param(
            partial(make_pictured, kind="raises", length=12),
            {},
            "render() failed: RuntimeError: no display",
            id="an error",
        ),
        pytest.param(
            partial(make_pictured, kind="list"),
            {},
            "render() returned a list; use render_mode: rgb_array",
            id="a list",
        ),
        pytest.param(
            partial(make_pictured, kind="flat"),
            {},
            "a frame has the shape [7]; it has to be [height, width, 3]",
            id="a flat array",
        ),
    ],
)
def test_a_renderer_that_fails_costs_the_video_alone(create: Any, config: dict[str, Any], sentence: str) -> None:
    policy = envs.make_policy() if create is envs.make_counting else drawn
    found = rollout(player(create, policy, **config), 1)
    assert found.recorded == Recorded(failure=sentence)
    assert found.episodes is not None
    assert found.episodes == rollout(player(create, policy, **config), 0).episodes


def test_a_renderer_that_takes_too_long_costs_the_video_and_the_episode_goes_on() -> None:
    found = rollout(player(make_pictured, drawn, render_seconds=0.0), 1)
    assert found.recorded is not None
    assert found.recorded.files == ()
    assert re.fullmatch(
        r"rendering the first 1 steps of an episode took \S+ s \(limit: 0 s\); make frames smaller, record fewer "
        "episodes, or raise the evaluation's timeout",
        found.recorded.failure or "",
    )
    assert found.episodes == rollout(player(make_pictured, drawn), 0).episodes


def test_a_renderer_that_failed_in_one_episode_is_tried_in_the_next() -> None:
    made = player(partial(make_pictured, kind="raises once"), drawn)
    assert [found.failure is None for found in (rollout(made, 1).recorded, rollout(made, 1).recorded) if found] == [
        False,
        True,
    ]
