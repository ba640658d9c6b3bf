"""Gymnasium's vector environments, by however they reset, give TorchRL's frames."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.example_count import examples
from tests.gym_envs import Chance, make_chance
from tests.unit.collectorfleet.actor.rollout.cases import linear_policy, vectors
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, compare, sides
from torchrl.envs import GymEnv, GymWrapper, ObservationNorm, RewardSum, StepCounter, Transform

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig

MODES = [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]  # TorchRL's wrapper takes no others


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
@settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(data=st.data(), mode=st.sampled_from(MODES), seed=st.integers(0, 2**20))
def test_frames_of_vector_environments_are_torchrls(data: st.DataObject, mode: AutoresetMode, seed: int) -> None:
    arguments = {"actions": data.draw(st.sampled_from([0, 3])), "ends": data.draw(st.sampled_from([0.1, 0.6]))}
    chain: list[type[Transform] | partial[Transform]] = [RewardSum]
    if data.draw(st.booleans()):
        chain.append(partial(ObservationNorm, loc=0.3, scale=1.7, in_keys=["observation"]))
    most = None
    if mode is AutoresetMode.DISABLED:
        most = data.draw(st.none() | st.integers(2, 9))
        chain.append(partial(StepCounter, most))
    policy = None if arguments["actions"] else linear_policy
    make = partial(vectors, mode, data.draw(st.integers(1, 4)), chain=tuple(chain), **arguments)
    theirs, ours = sides(make, policy, 24, seed, reset_at_each_iter=data.draw(st.booleans()))
    assert ours.runner.loop == "Fast"
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    compare(theirs, ours, data.draw(st.lists(requests, min_size=1, max_size=4)))
    if data.draw(st.booleans()):
        for side in (theirs, ours):
            side.do(lambda runner: runner.collector.reset())
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))


class Native(SyncVectorEnv):
    """Of nobody's kind."""


@settings(max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**20), cut_after=st.integers(1, 12))
def test_anybodys_vector_environment_that_leaves_resets_to_others(seed: int, cut_after: int) -> None:
    make = partial(vectors, AutoresetMode.DISABLED, kind=Native, chain=(RewardSum, partial(StepCounter, 7)), ends=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = sides(make, linear_policy, 24, seed)
    assert ours.runner.loop == "Fast"
    for asked in (Asked(20), Asked(12, cut_after=cut_after), Asked(5, random=True), Asked(20)):
        assert_equal(theirs.run(asked), ours.run(asked))


class Wrong(SyncVectorEnv):
    """Returns one value in place of two for ``what``, from its third step on."""

    what = ""

    def step(self, actions: Any) -> Any:
        found = list(super().step(actions))
        self._taken = getattr(self, "_taken", 0) + 1
        place = ["observation", "reward", "terminated", "truncated"].index(self.what) if self.what in SHOWN else None
        if place is not None and self._taken > 2:
            found[place] = found[place][:1]
        return tuple(found)

    def reset(self, **options: Any) -> Any:
        seen, infos = super().reset(**options)
        return (seen[:, :1] if self.what == "first observation" and getattr(self, "_taken", 0) else seen), infos


SHOWN = ("observation", "reward", "terminated", "truncated")


@pytest.mark.parametrize("what", [*SHOWN, "first observation"])
def test_results_for_fewer_environments_are_not_repeated_in_silence(what: str) -> None:
    kind = type("Wrong", (Wrong,), {"what": what})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, ours = sides(partial(vectors, AutoresetMode.DISABLED, kind=kind, ends=0.3), linear_policy, 24)
    assert ours.runner.loop == "Fast"
    with pytest.raises(ValueError, match=rf"^{what.split()[-1]} has shape "):
        ours.run(Asked(20))


class Formed(SyncVectorEnv):
    """Returns rewards and ends in the form that ``form`` makes of them."""

    form: Callable[[Any, Any, Any], tuple[Any, Any, Any]]

    def step(self, actions: Any) -> Any:
        seen, reward, terminated, truncated, infos = super().step(actions)
        return (seen, *self.form(reward, terminated, truncated), infos)


# For each form: the number of environments, and the function.
FORMS: dict[str, tuple[int, Callable[[Any, Any, Any], tuple[Any, Any, Any]]]] = {
    "zero": (2, lambda _, terminated, truncated: (0, terminated, truncated)),
    "false": (2, lambda _, terminated, truncated: (False, terminated, truncated)),
    "no reward": (2, lambda _, terminated, truncated: (None, terminated, truncated)),
    "a column": (2, lambda reward, terminated, truncated: (reward[:, None], terminated, truncated)),
    "columns": (2, lambda *results: tuple(one[:, None] for one in results)),
    "a number": (1, lambda reward, terminated, truncated: (float(reward[0]), terminated, truncated)),
    "numbers": (1, lambda *results: tuple(one[0].item() for one in results)),
}


@pytest.mark.parametrize("form", FORMS)
def test_results_that_torchrl_reads_are_read_alike(form: str) -> None:
    together, function = FORMS[form]
    kind = type("Formed", (Formed,), {"form": staticmethod(function)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = sides(partial(vectors, AutoresetMode.DISABLED, together, kind=kind, ends=0.3), linear_policy, 24)
    assert ours.runner.loop == "Fast"
    compare(theirs, ours, [Asked(20), Asked(7)])


class Shrinking(Chance):
    """Its last observation of an episode has one number in place of three."""

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, info = super().step(action)
        return seen[:1] if terminated or truncated else seen, reward, terminated, truncated, info


def test_a_last_observation_of_another_shape_is_not_repeated_in_silence() -> None:
    def make() -> Any:
        return GymWrapper(SyncVectorEnv([Shrinking] * 2, autoreset_mode=AutoresetMode.SAME_STEP))

    _, ours = sides(make, linear_policy, 24)
    assert ours.runner.loop == "Fast"
    with pytest.raises(ValueError, match=r"^observation has shape \[1\]; its observation space has \[3\]"):
        ours.run(Asked(40))


def test_one_that_resets_itself_is_only_understood_where_it_is_gymnasiums() -> None:
    made = CollectorConfig(partial(vectors, AutoresetMode.SAME_STEP, kind=Native), None, 12)
    assert build(made, 0).loop == "Fast, by the environment's own step: the fast loop does not know how Native resets"


def test_random_actions_of_another_dtype_than_the_policys_are_kept_as_the_policys() -> None:
    theirs, ours = sides(partial(make_chance, action_dtype="float64"), linear_policy, 12)
    for asked in (Asked(6, random=True), Asked(6), Asked(6, random=True)):
        found = ours.run(asked)
        assert_equal(theirs.run(asked), found)
        assert found.batch is not None
        assert found.batch["action"].dtype is torch.float32


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(partial(vectors, AutoresetMode.SAME_STEP, 2, AsyncVectorEnv), id="processes"),
        pytest.param(partial(GymEnv, "CartPole-v1", num_envs=2), id="num_envs"),  # resets in the step after the end
    ],
)
def test_environments_in_processes_give_torchrls_frames(make: Any) -> None:
    theirs, ours = sides(make, None, 200)
    try:
        assert ours.runner.loop == "Fast"
        for asked in (Asked(60), Asked(40, cut_after=20), Asked(50, random=True), Asked(60)):
            assert_equal(theirs.run(asked), ours.run(asked))
    finally:
        for side in (theirs, ours):
            side.runner.collector.shutdown()


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")
def test_ends_that_a_vector_environment_would_not_take_are_torchrls_to_refuse() -> None:
    chain = (partial(StepCounter, 3),)
    config = CollectorConfig(partial(vectors, AutoresetMode.SAME_STEP, chain=chain), None, 12)
    assert "a vector environment that resets itself ignores this" in build(config, 0).loop
