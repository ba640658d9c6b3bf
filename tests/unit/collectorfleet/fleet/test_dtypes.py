"""A policy that changes its dtype while a fleet runs: refused where values would be rounded, published where not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from tests import envs
from tests.in_process_fleet import fleet
from torch import nn

from collectorfleet import FleetCollector, InvalidOption, UserCodeError

# A third cannot be written in binary digits: each dtype has another one.
THIRD = 1 / 3
ROUNDED = r"weights: \S+ is published as torch.float64, .* would round it to torch.float32; .* as torch.float32, or"


def rewards(collector: FleetCollector) -> set[float]:
    """Twice the weight that acted."""
    return set(next(iter(collector))["next", "reward"].flatten().tolist())


def fill(collector: FleetCollector, value: float) -> None:
    with torch.no_grad():
        for parameter in collector.policy.parameters():
            parameter.fill_(value)


def on_policy(**options: Any) -> Any:
    given = {"policy": envs.make_policy(1.0), "num_collectors": 1, "frames_per_batch": 10, "sync": True, **options}
    return fleet(envs.make_counting, **given)


@pytest.fixture
def collector() -> Iterator[FleetCollector]:
    """It has handed out a batch of weights of float32."""
    with on_policy() as made:
        assert rewards(made) == {2.0}
        yield made


def test_wider_weights_are_refused_where_they_are_published_and_the_run_goes_on(collector: FleetCollector) -> None:
    collector.policy.double()
    fill(collector, THIRD)
    with pytest.raises(InvalidOption, match=ROUNDED):
        collector.update_policy_weights_()
    assert rewards(collector) == {2.0}
    collector.policy.float()
    fill(collector, 3.0)
    collector.update_policy_weights_()
    assert rewards(collector) == {6.0}
    assert collector._consumer.shared.slots.restarts == 0


def test_weights_of_another_shape_are_refused_where_they_are_published_and_the_run_goes_on(
    collector: FleetCollector,
) -> None:
    name, tensor = next(iter(collector.policy.named_parameters()))
    wrong = {**collector.policy.state_dict(), name: torch.zeros(*tensor.shape, 3)}
    shapes = (
        f"{re.escape(name)} has the shape {re.escape(str([*tensor.shape, 3]))}, .* {re.escape(str([*tensor.shape]))}"
    )
    with pytest.raises(InvalidOption, match=shapes):
        collector.update_policy_weights_(wrong)
    assert rewards(collector) == {2.0}
    fill(collector, 3.0)
    collector.update_policy_weights_()
    assert rewards(collector) == {6.0}
    assert collector._consumer.shared.slots.restarts == 0


@pytest.mark.parametrize("of", [TensorDict, dict], ids=["TensorDict", "dict"])
def test_wider_weights_that_are_brought_along_are_refused_too(collector: FleetCollector, of: Any) -> None:
    given = {name: tensor.detach().double() for name, tensor in collector.policy.named_parameters()}
    with pytest.raises(InvalidOption, match=ROUNDED):
        collector.update_policy_weights_(of(given))


def test_narrower_weights_are_published_as_they_are(collector: FleetCollector) -> None:
    collector.policy.bfloat16()
    fill(collector, THIRD)
    collector.update_policy_weights_()
    assert rewards(collector) == {2 * torch.tensor(THIRD, dtype=torch.bfloat16).item()}


def test_wider_weights_that_travel_narrower_are_published() -> None:
    with on_policy(weights_dtype=torch.bfloat16) as collector:
        collector.policy.double()
        fill(collector, THIRD)
        collector.update_policy_weights_()
        assert rewards(collector) == {2 * torch.tensor(THIRD, dtype=torch.bfloat16).item()}


def test_weights_travel_no_wider_than_they_are() -> None:
    policy = envs.make_policy(1.0).half()
    with on_policy(policy=policy, weights_dtype=torch.float32) as collector:
        newest = collector._consumer.shared.versions
        next(iter(collector))
        assert newest.newest is not None
        assert newest.newest.stored.size_bytes == sum(one.nbytes for one in policy.parameters())


def make_bfloat16_policy() -> nn.Module:
    return envs.make_policy(1.0).bfloat16()


def test_a_factory_whose_policy_would_round_what_is_published_ends_the_run_with_names() -> None:
    given = {name: tensor.detach() for name, tensor in envs.make_policy(THIRD).named_parameters()}
    with on_policy(policy=None, policy_factory=make_bfloat16_policy) as collector:
        collector.update_policy_weights_(given)
        with pytest.raises(
            UserCodeError, match=r"weights: \S+ is published as torch.float32, .* would round it to torch.bfloat16"
        ):
            next(iter(collector))
