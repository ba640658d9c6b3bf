"""Draws without distributions are those of the distributions, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict.nn import InteractionType, ProbabilisticTensorDictModule
from torch import Tensor
from torchrl.envs import ExplorationType, set_exploration_type
from torchrl.modules import OneHotCategorical, SafeProbabilisticModule, TanhNormal

from collectorfleet.actor.rollout import module_calls
from collectorfleet.actor.rollout.draws import find_draw
from collectorfleet.actor.rollout.policies import find_policy

BOUNDS: list[dict[str, Any]] = [{}, {"low": -2, "high": 2.0}, {"low": torch.tensor([-1.0, 0.0]), "high": 1}]


def drawing(distribution: type, keys: list[str], log_prob: bool, **settings: Any) -> SafeProbabilisticModule:
    return SafeProbabilisticModule(
        keys,
        ["action"],
        distribution_class=distribution,
        distribution_kwargs=settings,
        return_log_prob=log_prob,
        default_interaction_type=InteractionType.RANDOM,
    )


def drawn(module: ProbabilisticTensorDictModule, parameters: dict[str, Tensor], seed: int, *, directly: bool) -> Any:
    torch.manual_seed(seed)
    if directly:
        draw = find_draw(module, log_prob=module.return_log_prob)
        assert draw is not None
        action, log_prob = draw(parameters)
    else:
        values = dict(parameters)
        module_calls.DrawCall(module)._by_distribution(values, InteractionType.RANDOM)
        action, log_prob = values["action"], values.get("action_log_prob")
    return action, log_prob, torch.get_rng_state()


def assert_same_draws(module: ProbabilisticTensorDictModule, parameters: dict[str, Tensor], seed: int) -> None:
    theirs = drawn(module, parameters, seed, directly=False)
    ours = drawn(module, parameters, seed, directly=True)
    for one, other in zip(theirs, ours, strict=True):
        assert (one is None) is (other is None)
        assert one is None or (one.dtype == other.dtype and torch.equal(one, other))


SHAPES = st.sampled_from([(), (1,), (5,), (2, 3)])


@given(
    seed=st.integers(0, 2**20), shape=SHAPES, choices=st.integers(2, 5), far=st.floats(0, 50), log_prob=st.booleans()
)
def test_one_hot_actions(seed: int, shape: tuple[int, ...], choices: int, far: float, log_prob: bool) -> None:
    torch.manual_seed(seed)
    assert_same_draws(
        drawing(OneHotCategorical, ["logits"], log_prob), {"logits": torch.randn(*shape, choices) * far}, seed
    )


@given(
    seed=st.integers(0, 2**20),
    shape=SHAPES,
    far=st.floats(0, 9),
    bounds=st.sampled_from(BOUNDS),
    log_prob=st.booleans(),
)
def test_squashed_normal_actions(
    seed: int, shape: tuple[int, ...], far: float, bounds: dict[str, Any], log_prob: bool
) -> None:
    torch.manual_seed(seed)
    parameters = {"loc": torch.randn(*shape, 2) * far, "scale": torch.rand(*shape, 2) * far + 1e-4}
    assert_same_draws(drawing(TanhNormal, ["loc", "scale"], log_prob, **bounds), parameters, seed)


@pytest.mark.parametrize(
    ("distribution", "keys", "arguments"),
    [
        pytest.param(OneHotCategorical, ["probs"], {}, id="probabilities"),
        pytest.param(TanhNormal, ["loc", "scale"], {"tanh_loc": True}, id="a location that is squashed"),
        pytest.param(TanhNormal, ["loc", "scale"], {"event_dims": 0}, id="other events"),
        pytest.param(torch.distributions.Normal, ["loc", "scale"], {}, id="another distribution"),
    ],
)
def test_other_settings_are_the_distributions_to_draw(distribution: type, keys: list[str], arguments: Any) -> None:
    assert find_draw(drawing(distribution, keys, False, **arguments), log_prob=False) is None


def test_a_draw_that_differs_from_the_distribution_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = torch.tensor([7, 7])
    monkeypatch.setattr(module_calls, "find_draw", lambda *_, **__: lambda _: (wrong, None))
    policy = find_policy(drawing(OneHotCategorical, ["logits"], False), ["logits"], torch.Size([3]))
    with set_exploration_type(ExplorationType.RANDOM):
        for _ in range(3):
            values = {"logits": torch.zeros(3, 2)}
            policy(values)
            assert values["action"].sum() == 3
