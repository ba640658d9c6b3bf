"""Environments that are reset where nobody expects it, or change what they were told: frames stay true."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tensordict import TensorDictBase
from tests import parameterized_envs as levels
from tests.unit.collectorfleet.actor.parameters.asking import Asking, assert_true, runner
from torchrl.envs import BatchSizeTransform, EnvBase, GymWrapper, Transform, TransformedEnv
from torchrl.envs.libs.gym import GymEnv

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.origin import Origin, origin_of
from collectorfleet.actor.parameters.parameter_setters import ParametersRefused
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.messages import Parameters, Request
from collectorfleet.parameters import EnvironmentParameters

RESETS_AND_TRAJECTORIES = r"was reset \d times for \d trajectories in one rollout"


class Scaled(levels.WithMethod):
    scale = 2.0


class ReadsThroughTheWrapper(Transform):
    """Reads an attribute of the environment below TorchRL's wrapper."""

    def _step(self, tensordict: TensorDictBase, next_tensordict: TensorDictBase) -> TensorDictBase:
        next_tensordict["reward"] = next_tensordict["reward"] * self.parent.base_env.scale
        return next_tensordict


class TwoEpisodesAreOne(Transform):
    """Resets the environment in the middle of each trajectory."""

    ended = 0

    def _step(self, tensordict: TensorDictBase, next_tensordict: TensorDictBase) -> TensorDictBase:
        if next_tensordict["done"].any():
            self.ended += 1
            if self.ended % 2:
                begun = self.parent.base_env.reset()
                for key in ("done", "terminated", "truncated"):
                    next_tensordict[key] = torch.zeros_like(next_tensordict[key])
                next_tensordict["observation"] = begun["observation"]
        return next_tensordict


class Life(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Resets the game at each third reset only, as a game with several lives, and passes no options on."""

    resets = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.resets += 1
        if self.resets % 3 == 1:
            return self.env.reset(seed=seed)
        self.env.unwrapped._steps = 0  # type: ignore[attr-defined]
        return self.env.unwrapped._seen(), {}  # type: ignore[attr-defined]


class Wind:
    speed = 0.0


class Windy(levels.Levels):
    """Builds its simulator anew in each reset."""

    def __init__(self) -> None:
        super().__init__()
        self.wind = Wind()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.wind = Wind()
        return super().reset(seed=seed)


class OtherStep(levels.WithMethod):
    """Steps otherwise once it has parameters."""

    def set_parameters(self, level: float) -> None:
        super().set_parameters(level)
        self.step = self.hard  # type: ignore[method-assign]

    def hard(self, action: np.ndarray) -> Any:
        seen, reward, *rest = levels.Levels.step(self, action)
        return (seen, reward + 100, *rest)


class Consumes(levels.Levels):
    """Takes its levels from a list, which it empties."""

    queue: list[float]

    def set_parameters(self, queue: list[float]) -> None:
        self.queue = queue

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.level = self.queue.pop(0) if getattr(self, "queue", None) else self.level
        return super().reset(seed=seed)


def two_lives() -> EnvBase:
    return GymWrapper(Life(levels.WithOptions()))


@pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
def test_what_reads_the_environment_below_torchrls_wrapper_still_finds_it(loop: RolloutLoop) -> None:
    with runner(lambda: TransformedEnv(GymWrapper(Scaled()), ReadsThroughTheWrapper()), rollout=loop) as made:
        asking = Asking(made)
        for _ in range(3):
            assert_true(*asking.next(10.0 * (asking.version + 1)))
        assert made.collector.env.base_env.scale == 2.0
        assert isinstance(made.collector.env.base_env._env, Scaled)


def changing(made: RolloutRunner, frames: int) -> None:
    for number in range(2, 6):
        made.run(Request(number, frames, 0, parameters=Parameters(number, {"level": 1.0})))


@pytest.mark.parametrize("frames", [8, 9])
def test_a_reset_in_the_middle_of_a_trajectory_is_refused(frames: int) -> None:
    made_of = lambda: TransformedEnv(levels.make_method(), TwoEpisodesAreOne())  # noqa: E731
    with runner(made_of, rollout=RolloutLoop.TORCHRL, frames_per_request=frames) as made:
        made.run(Request(1, frames, 0))
        with pytest.raises(ParametersRefused, match=RESETS_AND_TRAJECTORIES) as refused:
            changing(made, frames)
    assert origin_of(refused.value) is Origin.PARAMETERS


def test_a_hook_that_resets_the_environment_is_refused() -> None:
    with runner(levels.make_method) as made:
        asking = Asking(made)
        asking.next()
        made.collector.pre_collect_hook = made.collector.env.reset
        with pytest.raises(ParametersRefused, match=RESETS_AND_TRAJECTORIES):
            asking.next(10.0)


@pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
def test_options_count_from_the_reset_that_gets_them(loop: RolloutLoop) -> None:
    with runner(two_lives, EnvironmentParameters(through="reset_options"), rollout=loop) as made:
        asking = Asking(made)
        seen = [asking.next(), asking.next(10.0), asking.next(), asking.next(20.0)]
        seen += [asking.next() for _ in range(4)]
    for batch, versions in seen:
        assert_true(batch, versions)
    assert set(seen[-1][1].tolist()) == {2}


def test_an_attribute_that_a_reset_assigns_is_refused_by_its_name() -> None:
    with runner(lambda: GymWrapper(Windy())) as made:
        made.run(Request(1, 8, 0))
        with pytest.raises(ParametersRefused, match=r"environment Windy: wind\.speed was set to 5.0, but is now 0.0"):
            made.run(Request(2, 8, 0, parameters=Parameters(1, {"wind.speed": 5.0})))


@pytest.mark.parametrize("name", ["step", "reset", "observation_space", "spec"])
def test_what_is_no_parameter_is_refused_by_its_name(name: str) -> None:
    refused = pytest.raises(ParametersRefused, match=f"environment Levels: {name} cannot be set as a parameter")
    with runner(lambda: GymWrapper(levels.Levels())) as made, refused:
        made.run(Request(1, 8, 0, parameters=Parameters(1, {name: 3})))


def test_an_attribute_of_two_layers_is_refused() -> None:
    class Copies(gymnasium.Wrapper[Any, Any, Any, Any]):
        level = 7.0

    refused = pytest.raises(ParametersRefused, match="Copies and Levels both have an attribute level")
    with runner(lambda: GymWrapper(Copies(levels.Levels()))) as made, refused:
        made.run(Request(1, 8, 0, parameters=Parameters(1, {"level": 3.0})))


@pytest.mark.parametrize("apply", ["reset", "step"])
def test_an_environment_that_changes_its_step_steps_by_the_new_one(apply: str) -> None:
    with runner(lambda: GymWrapper(OtherStep()), EnvironmentParameters(apply=apply)) as made:
        asking = Asking(made)
        asking.next()
        asking.next(10.0)
        batch, versions = asking.next()
    assert set(versions.tolist()) == {1}
    assert set(batch["next", "reward"].flatten().tolist()) == {101.0}


def test_environments_of_a_batch_have_values_of_their_own() -> None:
    with runner(levels.serial_of(lambda: GymWrapper(Consumes()))) as made:
        made.run(Request(1, 8, 0))
        found = made.run(Request(2, 40, 0, parameters=Parameters(1, {"queue": [6.0, 5.0, 4.0, 3.0]}))).batch
    assert found is not None
    one, other = (row["observation"][:, 0].unique_consecutive().tolist() for row in found)
    assert one[:4] == other[:4] == [0.0, 6.0, 5.0, 4.0]


def test_a_batch_made_of_one_environment_is_refused() -> None:
    made_of = lambda: TransformedEnv(GymEnv("Pendulum-v1"), BatchSizeTransform(batch_size=(4,)))  # noqa: E731
    refused = pytest.raises(
        ParametersRefused, match="the environment is a batch of 4 environments, but parameters can be set for"
    )
    with runner(made_of) as made, refused:
        made.run(Request(1, 8, 0, parameters=Parameters(1, {"g": 9.0})))


def refusing(asking: Asking) -> None:
    for _ in range(3):
        asking.next(-5.0)


@pytest.mark.parametrize("apply", ["reset", "step"])
def test_what_an_environment_in_a_process_raises_is_told_in_its_own_words(apply: str) -> None:
    with runner(levels.make_parallel, EnvironmentParameters(apply=apply)) as made:
        asking = Asking(made)
        asking.next()
        with pytest.raises(ParametersRefused, match="ValueError: there is no level -5") as refused:
            refusing(asking)
        assert origin_of(refused.value) is Origin.PARAMETERS


class Forgets(levels.Levels):
    """Keeps its level for two resets, and assigns another in each later one."""

    resets = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.resets += 1
        if self.resets > 4:
            self.level = -1.0
        return super().reset(seed=seed)


def make_forgets() -> EnvBase:
    return GymWrapper(Forgets())


@pytest.mark.parametrize("of", [levels.serial_of, levels.parallel_of])
def test_parameters_that_a_later_reset_takes_away_end_the_run_in_whatever_process(of: Any) -> None:
    with runner(of(make_forgets)) as made:
        made.run(Request(1, 8, 0))
        with pytest.raises(ParametersRefused, match=r"level was set to 5\.0, but is now -1\.0"):
            forgetting(made)


def forgetting(made: RolloutRunner) -> None:
    for number in range(2, 12):
        made.run(Request(number, 16, 0, parameters=Parameters(1, {"level": 5.0}) if number == 2 else None))
