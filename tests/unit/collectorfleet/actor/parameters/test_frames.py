"""Frames say which parameters made them, and environments show it in what they observe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import parameterized_envs as levels
from tests.example_count import examples
from tests.unit.collectorfleet.actor.parameters.asking import FRAMES, Asking, assert_true, levels_seen, runner
from torchrl.envs import EnvBase, StepCounter, TransformedEnv

from collectorfleet.actor.config import RolloutLoop
from collectorfleet.actor.origin import Origin, origin_of
from collectorfleet.actor.parameters.parameter_setters import ParametersRefused
from collectorfleet.messages import Parameters, Request
from collectorfleet.parameters import EnvironmentParameters

KINDS = {
    "method": (levels.make_method, "auto"),
    "attribute": (levels.make_attribute, "auto"),
    "options": (levels.make_options, "reset_options"),
    "native": (levels.make_native, "set_parameters"),
    "serial": (levels.make_serial, "auto"),
    "parallel": (levels.make_parallel, "auto"),
}
HERE = [name for name in KINDS if name != "parallel"]


@pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
@pytest.mark.parametrize("kind", KINDS)
def test_each_episode_has_one_level_and_its_frames_say_which(kind: str, loop: RolloutLoop) -> None:
    create, through = KINDS[kind]
    with runner(create, EnvironmentParameters(through=through), rollout=loop) as made:
        asking = Asking(made)
        seen = [asking.next(), asking.next(10.0), asking.next(), asking.next(20.0), asking.next(), asking.next()]
        assert made.loop.startswith("TorchRL") == (loop is RolloutLoop.TORCHRL), made.loop
    for batch, versions in seen:
        assert_true(batch, versions)
    # The rollout that a change came with began in the episode before.
    assert set(seen[1][1].flatten().tolist()) == {0, 1}
    assert set(seen[-1][1].flatten().tolist()) == {2}


def test_gymnasium_environments_keep_the_fast_loop() -> None:
    for kind in ("method", "attribute", "serial"):
        with runner(KINDS[kind][0]) as made:
            asking = Asking(made)
            asking.next(10.0)
            asking.next()
            assert made.loop == "Fast"


@settings(max_examples=examples(25), deadline=None)
@given(
    kind=st.sampled_from(HERE),
    changes=st.lists(st.integers(0, 2), min_size=3, max_size=8),
    steps=st.sampled_from([None, 4]),
    anew=st.booleans(),
    loop=st.sampled_from([RolloutLoop.AUTO, RolloutLoop.TORCHRL]),
)
def test_frames_are_true_whenever_levels_change(
    kind: str, changes: list[int], steps: int | None, anew: bool, loop: RolloutLoop
) -> None:
    create, through = KINDS[kind]
    made_of = create if steps is None else lambda: TransformedEnv(create(), StepCounter(max_steps=steps))
    options = {"reset_at_each_iter": anew}
    with runner(made_of, EnvironmentParameters(through=through), rollout=loop, options=options) as made:
        asking = Asking(made)
        for count in changes:
            newest = [10.0 * (asking.version + one + 1) for one in range(count)]
            assert_true(*asking.next(*newest))


def test_a_new_collector_begins_with_the_parameters_of_its_first_request() -> None:
    with runner(levels.make_method) as made:
        asking = Asking(made)
        asking.version = 6  # as for a replacement
        batch, versions = asking.next(70.0)
        assert_true(batch, versions)
        assert set(versions.tolist()) == {7}


def test_levels_change_in_the_middle_of_an_episode_where_they_apply_at_the_next_step() -> None:
    for create in (levels.make_method, levels.make_attribute, levels.make_native, levels.make_serial):
        with runner(create, EnvironmentParameters(apply="step")) as made:
            asking = Asking(made)
            before, _ = asking.next()
            batch, versions = asking.next(10.0)
        assert set(versions.flatten().tolist()) == {1}
        # The observation that an episode goes on from was made before.
        assert set(batch["next", "observation"][..., 0].flatten().tolist()) == {10.0}
        assert set(levels_seen(before)) == {0.0}


def test_a_batch_takes_parameters_at_the_next_step() -> None:
    with runner(levels.make_batch, EnvironmentParameters(apply="step")) as made:
        asking = Asking(made)
        asking.next()
        batch, versions = asking.next(10.0)
    assert set(versions.flatten().tolist()) == {1}
    assert set(batch["next", "observation"].flatten().tolist()) == {10.0}


def test_the_oldest_version_that_an_environment_has_is_told() -> None:
    with runner(levels.make_method) as made:
        asking = Asking(made)
        assert [asking.rollout().oldest_parameters, asking.rollout(10.0).oldest_parameters] == [0, 1]


@pytest.mark.parametrize(
    ("create", "options", "sentence"),
    [
        (
            levels.make_attribute,
            {"through": "set_parameters"},
            "environment Levels has no method set_parameters; add a method set_parameters",
        ),
        (
            levels.make_batch,
            {},
            "environment Batch is a batch of 2 environments that share one set of parameters",
        ),
        (levels.make_native, {"through": "reset_options"}, "environment Native is not a single Gymnasium environment"),
    ],
)
def test_an_environment_that_takes_no_parameters_is_refused_by_name(
    create: Callable[[], EnvBase], options: dict[str, str], sentence: str
) -> None:
    with runner(create, EnvironmentParameters(**options)) as made:
        asking = Asking(made)
        with pytest.raises(ParametersRefused) as refused:
            asking.next(10.0)
    assert str(refused.value).startswith(sentence)
    assert origin_of(refused.value) is Origin.PARAMETERS


@pytest.mark.parametrize("create", [levels.make_attribute, levels.make_options])
def test_parameters_that_an_environment_does_not_have_are_named(create: Callable[[], EnvBase]) -> None:
    with (
        runner(create) as made,
        pytest.raises(ParametersRefused, match=r"no attribute gravity, wind\.speed; add a method"),
    ):
        made.run(Request(1, FRAMES, 0, parameters=Parameters(1, {"gravity": 1.0, "level": 2.0, "wind.speed": 3})))


def test_what_the_method_of_an_environment_raises_is_an_error_of_its_parameters() -> None:
    with runner(levels.make_method) as made:
        asking = Asking(made)
        asking.next()
        with pytest.raises(ValueError, match="there is no level -5") as raised:
            asking.next(-5.0)
    assert origin_of(raised.value) is Origin.PARAMETERS


def test_processes_of_a_parallel_environment_refuse_parameters_and_live_on() -> None:
    with runner(levels.make_parallel, EnvironmentParameters(through="attributes")) as made:
        with pytest.raises(ParametersRefused, match="environment WithMethod has no attribute gravity"):
            made.run(Request(1, FRAMES, 0, parameters=Parameters(1, {"gravity": 1.0})))
        assert made.run(Request(2, FRAMES, 0)).frames == FRAMES


def test_a_parallel_environment_that_runs_already_is_refused_when_it_is_built() -> None:
    with (
        pytest.raises(Exception, match="the factory has started its ParallelEnv"),
        runner(levels.make_started_parallel),
    ):
        pass
