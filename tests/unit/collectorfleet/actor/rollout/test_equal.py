"""Frames of our loop are those of TorchRL's collector, whatever is stepped, and however it is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensordict.nn import (
    InteractionType,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)
from tests.example_count import examples
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, compare, sides
from torch import nn
from torchrl.envs import (
    Compose,
    DoubleToFloat,
    EnvBase,
    ExplorationType,
    GymEnv,
    ObservationNorm,
    RewardSum,
    SerialEnv,
    StepCounter,
    Transform,
    TransformedEnv,
)
from torchrl.modules import (
    Actor,
    AdditiveGaussianModule,
    EGreedyModule,
    NormalParamExtractor,
    OneHotCategorical,
    ProbabilisticActor,
    QValueActor,
    TanhNormal,
    ValueOperator,
)

EXPLORATION = [ExplorationType.RANDOM, ExplorationType.DETERMINISTIC]  # which all distributions here have
MAKES: dict[str, tuple[Callable[[], EnvBase], int, int]] = {
    "CartPole": (partial(GymEnv, "CartPole-v1"), 4, 2),
    "CartPole by number": (partial(GymEnv, "CartPole-v1", categorical_action_encoding=True), 4, 2),
    "Pendulum": (partial(GymEnv, "Pendulum-v1"), 3, 0),
    "chance": (make_chance, 3, 0),
    "chance in float64": (partial(make_chance, dtype="float64"), 3, 0),
    "chance with choices": (partial(make_chance, actions=3, ends=0.4), 3, 3),
    "pixels": (partial(make_chance, shape=(4, 4, 3), dtype="uint8"), 48, 0),
}


class Flat(nn.Module):
    def forward(self, observation: torch.Tensor, dims: int = 1) -> torch.Tensor:
        return observation.float().flatten(-3) if observation.dtype == torch.uint8 else observation.float()


class Index(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.argmax(-1)


class OneHot(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return nn.functional.one_hot(scores.argmax(-1), scores.shape[-1])


def computed(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(Flat(), nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def action_size(name: str) -> int:
    return 1 if name == "Pendulum" else 2


@st.composite
def policies(draw: st.DrawFn, name: str) -> Callable[[], Any] | None:
    _, inputs, choices = MAKES[name]
    size = choices or action_size(name)
    seen = "pixels" if name == "pixels" else "observation"  # as GymWrapper names an image
    kinds = ["none", "module", "drawn", "drawn with its probability", "with a value", "exploring"]
    kind = draw(st.sampled_from(kinds))

    def make() -> Any:
        torch.manual_seed(7)
        head: nn.Module = nn.Identity()
        if choices:
            head = Index() if "by number" in name else OneHot()
        net = computed(inputs, size)
        if kind == "exploring":
            spec = MAKES[name][0]().full_action_spec["action"]
            if choices:
                return TensorDictSequential(
                    QValueActor(net, in_keys=[seen], spec=spec), EGreedyModule(spec, eps_init=0.5)
                )
            return TensorDictSequential(Actor(net, in_keys=[seen]), AdditiveGaussianModule(spec))
        if kind == "module" or (choices and "by number" in name):
            return Actor(nn.Sequential(net, head), in_keys=[seen])
        if kind == "with a value":
            value = ValueOperator(computed(inputs, 1), in_keys=[seen])
            return TensorDictSequential(TensorDictModule(nn.Sequential(net, head), [seen], ["action"]), value)
        log_prob = kind == "drawn with its probability"
        if choices:
            scores = TensorDictModule(net, [seen], ["logits"])
            return ProbabilisticActor(
                scores, in_keys=["logits"], distribution_class=OneHotCategorical, return_log_prob=log_prob
            )
        spread = nn.Sequential(computed(inputs, 2 * size), NormalParamExtractor())
        parts = TensorDictModule(spread, [seen], ["loc", "scale"])
        if log_prob:
            return ProbabilisticActor(
                parts, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True
            )
        drawing = ProbabilisticTensorDictModule(
            ["loc", "scale"],
            ["action"],
            distribution_class=TanhNormal,
            default_interaction_type=InteractionType.RANDOM,
        )
        return ProbabilisticTensorDictSequential(parts, drawing)

    return None if kind == "none" else make


@st.composite
def transforms(draw: st.DrawFn, name: str, *, inner: bool) -> list[Callable[[], Transform]]:
    found: list[Callable[[], Transform]] = []
    if inner and name == "chance in float64":
        found.append(partial(DoubleToFloat, in_keys=["observation"]))
    elif name != "pixels" and name != "chance in float64" and draw(st.booleans()):
        found.append(partial(ObservationNorm, loc=0.3, scale=1.7, in_keys=["observation"]))
    prefix = "inner" if inner else "outer"
    if draw(st.booleans()):
        most = draw(st.none() | st.integers(1, 9))
        found.append(partial(StepCounter, most, step_count_key=f"{prefix}_count"))
    if draw(st.booleans()):
        found.append(partial(RewardSum, in_keys=["reward"], out_keys=[f"{prefix}_return"]))
    return list(draw(st.permutations(found)))


def transformed(make: Callable[[], EnvBase], chain: list[Callable[[], Transform]]) -> EnvBase:
    return TransformedEnv(make(), Compose(*[one() for one in chain])) if chain else make()


@st.composite
def environments(draw: st.DrawFn, name: str) -> Callable[[], EnvBase]:
    inner, outer = draw(transforms(name, inner=True)), draw(transforms(name, inner=False))
    together = draw(st.integers(0, 4))
    if not together:
        return partial(transformed, MAKES[name][0], [*inner, *outer])
    return partial(transformed, partial(SerialEnv, together, partial(transformed, MAKES[name][0], inner)), outer)


@pytest.mark.filterwarnings("ignore:Nested TransformedEnvs")  # of TorchRL's own StepCounter for max_frames_per_traj
@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(list(MAKES)), seed=st.integers(0, 2**20))
def test_frames_are_torchrls_entry_by_entry(data: st.DataObject, name: str, seed: int) -> None:
    make_env, make_policy = data.draw(environments(name)), data.draw(policies(name))
    options = {
        "max_frames_per_traj": data.draw(st.none() | st.integers(2, 9)),
        "reset_at_each_iter": data.draw(st.booleans()),
        "exploration_type": data.draw(st.sampled_from(EXPLORATION)),
        "set_truncated": data.draw(st.booleans()),
        "compact_obs": data.draw(st.booleans()),
    }
    theirs, ours = sides(make_env, make_policy, 24, seed, **options)
    assert ours.runner.loop == "Fast"
    requests = st.builds(Asked, st.integers(1, 20), st.booleans(), st.none() | st.integers(1, 6))
    compare(theirs, ours, data.draw(st.lists(requests, min_size=1, max_size=5)))
    between = data.draw(st.sampled_from(["nothing", "reset", "seed", *(["state"] if make_policy else [])]))
    for side in (theirs, ours):
        match between:
            case "reset":
                side.do(lambda runner: runner.collector.reset())
            case "seed":
                side.do(lambda runner: runner.collector.set_seed(seed))
            case "state":
                side.do(lambda runner: runner.load_environment_state(runner.environment_state()))
    assert_equal(theirs.run(Asked(8)), ours.run(Asked(8)))
