"""What a fleet publishes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import nn

from collectorfleet.actor.target import ModulesTarget, WeightsTarget
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.codec.snapshot import by_every_name
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.weights import WeightsSource


class ActorCritic(nn.Module):
    """Both see through one encoder, which the critic names first."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        self.actor = nn.Sequential(self.critic[0], nn.Linear(2, 1))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.fill_(value)


@pytest.mark.parametrize("names", [["actor."], "actor."], ids=["list", "string"])
def test_a_tensor_that_layers_share_travels_under_the_name_that_the_filter_has(names: str | list[str]) -> None:
    source = WeightsSource(ActorCritic(1.0), {}, dtype=None, names=names)
    snapshot = source.take()
    assert snapshot is not None
    assert {entry.name for entry in snapshot.entries} == {
        "actor.0.weight",
        "actor.0.bias",
        "actor.1.weight",
        "actor.1.bias",
    }
    assert not snapshot.whole
    remote = ActorCritic(0.0)
    WeightsTarget(by_every_name(remote)).load(snapshot)
    assert all((parameter == 1).all() for parameter in remote.actor.parameters())
    assert (remote.critic[1].weight == 0).all()


def test_without_a_filter_each_tensor_travels_once() -> None:
    snapshot = WeightsSource(ActorCritic(1.0), {}, dtype=None, names=None).take()
    assert snapshot is not None
    assert len(snapshot.entries) == 6
    assert snapshot.whole


def linear(value: float) -> nn.Linear:
    module = nn.Linear(1, 1, bias=False)
    nn.init.constant_(module.weight, value)
    return module


def published(source: WeightsSource, given: Any = None, model: str | None = None) -> tuple[dict[str, float], bool]:
    snapshot = source.take(given, model)
    assert snapshot is not None
    values = zip(snapshot.entries, snapshot.arrays, strict=True)
    return {entry.name: snapshots.tensor_of(entry, array).item() for entry, array in values}, snapshot.whole


def test_one_model_of_several_is_published_with_the_others_as_they_were() -> None:
    policy, world = linear(1.0), linear(2.0)
    source = WeightsSource(policy, {"env.world": world}, dtype=None, names=None)
    assert published(source) == ({"weight": 1.0, "env.world:weight": 2.0}, True)
    nn.init.constant_(policy.weight, 3.0)
    nn.init.constant_(world.weight, 4.0)
    assert published(source, model="env.world") == ({"weight": 1.0, "env.world:weight": 4.0}, True)
    assert published(source, {"weight": torch.full((1, 1), 5.0)}) == ({"weight": 5.0, "env.world:weight": 4.0}, True)


def test_weights_without_values_are_refused_when_they_are_passed_or_published() -> None:
    lazy = nn.Sequential(nn.LazyLinear(2))
    source = WeightsSource(lazy, {}, dtype=None, names=None)
    with pytest.raises(InvalidOption, match=r"weights: 0\.weight has no shape yet"):
        _ = source.has_weights
    with pytest.raises(InvalidOption, match=r"weights: 0\.weight has no shape yet"):
        source.take(lazy.state_dict())
    lazy(torch.zeros(3))
    assert source.has_weights
    for given in ({"0.weight": torch.zeros(2, 3, device="meta")}, TensorDict.from_module(lazy.to("meta"))):
        with pytest.raises(InvalidOption, match=r"weights: 0\.\w+ is on the meta device"):
            source.take(given)


class Scaled(nn.Module):
    """Has a buffer that no ``state_dict()`` has."""

    scale: torch.Tensor

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))
        self.other = nn.Parameter(torch.tensor(value))
        self.register_buffer("scale", torch.tensor(value), persistent=False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(Scaled(2.0).state_dict(), {"value": 2.0, "other": 2.0, "scale": 1.0}, id="a state"),
        pytest.param({"value": torch.tensor(2.0)}, {"value": 2.0, "other": 1.0, "scale": 1.0}, id="a part"),
        pytest.param(
            TensorDict({"other": torch.tensor(2.0)}), {"value": 1.0, "other": 2.0, "scale": 1.0}, id="a TensorDict"
        ),
        pytest.param(Scaled(2.0), {"value": 2.0, "other": 2.0, "scale": 2.0}, id="a module"),
    ],
)
def test_a_part_of_the_weights_is_published_with_the_rest_as_the_policy_has_it(
    given: Any, expected: dict[str, float]
) -> None:
    source = WeightsSource(Scaled(1.0), {}, dtype=None, names=None)
    assert published(source, given) == (expected, True)


def test_a_part_of_what_layers_share_is_not_completed_with_the_policys_own() -> None:
    source = WeightsSource(ActorCritic(1.0), {}, dtype=None, names=None)
    snapshot = source.take({"actor.0.weight": torch.zeros(2, 2)})
    assert snapshot is not None
    remote = ActorCritic(5.0)
    WeightsTarget(by_every_name(remote)).load(snapshot)
    assert (remote.critic[0].weight == 0).all()
    assert (remote.critic[1].weight == 1).all()


@pytest.mark.parametrize("model", [None, "env.world"])
def test_a_name_that_the_policy_does_not_have_is_refused(model: str | None) -> None:
    source = WeightsSource(Scaled(1.0), {"env.world": Scaled(1.0)}, dtype=None, names=None)
    with pytest.raises(InvalidOption, match=r"weights: the .* has no tensor valve, only other, scale, value"):
        source.take({"valve": torch.tensor(2.0)}, model)


def test_without_a_policy_here_what_is_given_travels_as_it_is() -> None:
    assert published(WeightsSource(None, {}, dtype=None, names=None), {"value": torch.tensor(2.0)}) == (
        {"value": 2.0},
        True,
    )


def test_names_that_do_not_travel_may_be_anything() -> None:
    source = WeightsSource(linear(1.0), {}, dtype=None, names=("weight", "bias"))
    assert published(source, {**linear(2.0).state_dict(), "critic.w": torch.ones(1)}) == published(source, linear(2.0))


class WithExtraState(nn.Linear):
    def get_extra_state(self) -> Any:
        return torch.ones(2)

    def set_extra_state(self, state: Any) -> None:
        """Nothing is kept."""


def test_what_a_state_dict_has_besides_tensors_is_left_out() -> None:
    policy = WithExtraState(2, 1)
    source = WeightsSource(policy, {}, dtype=None, names=None)
    snapshot = source.take(policy.state_dict())
    assert snapshot is not None
    assert sorted(entry.name for entry in snapshot.entries) == ["bias", "weight"]


def test_the_dtype_of_what_collectors_build_is_theirs_to_know() -> None:
    source = WeightsSource(None, {}, dtype=None, names=None)
    assert source.take({"w": torch.ones(1, dtype=torch.bfloat16)}) is not None
    assert source.take({"w": torch.ones(1)}) is not None


@pytest.mark.parametrize(("own", "travels"), [(torch.float16, torch.bfloat16), (torch.bfloat16, torch.float16)])
def test_weights_travel_as_they_are_if_a_dtype_is_no_narrower(own: torch.dtype, travels: torch.dtype) -> None:
    snapshot = WeightsSource(linear(1.0).to(own), {}, dtype=travels, names=None).take()
    assert snapshot is not None
    assert {entry.dtype for entry in snapshot.entries} == {own}


class Caching(nn.Module):
    """Has a buffer and a plain tensor that grow."""

    cache: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("cache", torch.zeros(2, 3))
        self.plain = torch.zeros(2, 3)

    def grow(self) -> None:
        self.cache = self.plain = torch.zeros(5, 3)


def test_the_refusal_of_a_buffer_that_grew_says_how_to_leave_the_buffer_out() -> None:
    policy = Caching()
    source = WeightsSource(policy, {}, dtype=None, names=None)
    policy.grow()
    with pytest.raises(
        InvalidOption,
        match=r"^weights: cache has the shape \[5, 3\], .* the shape \[2, 3\]; publish weights of the policy that the "
        r"fleet was created with, or leave the buffer cache out with weights_filter \(weights\.include\)$",
    ):
        source.take()


@pytest.mark.parametrize("names", [["value"], lambda name: name != "cache"], ids=["a list", "a function"])
def test_a_buffer_that_grew_can_be_left_out(names: Any) -> None:
    policy, remote = Caching(), Caching()
    source = WeightsSource(policy, {}, dtype=None, names=names)
    nn.init.constant_(policy.value, 2.0)
    policy.grow()
    snapshot = source.take()
    assert snapshot is not None
    ModulesTarget({"": remote}).load(snapshot)
    assert (remote.value.item(), list(remote.cache.shape)) == (2.0, [2, 3])


def test_the_refusal_of_a_parameter_of_another_shape_has_no_such_way_out() -> None:
    source = WeightsSource(nn.Linear(2, 2), {}, dtype=None, names=None)
    with pytest.raises(InvalidOption, match=r"publish weights of the policy that the fleet was created with$"):
        source.take(nn.Linear(3, 2))
