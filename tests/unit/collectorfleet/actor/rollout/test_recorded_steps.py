"""Steps that are recorded as a CUDA graph give the same frames as those that are computed."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from tensordict.nn import TensorDictModule
from tests import tensor_envs
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.cases import TENSORS, Make, bounded_policy, several_kinds
from tests.unit.collectorfleet.actor.rollout.recorded_graphs import RECORDED, Pretended
from tests.unit.collectorfleet.actor.rollout.sides import Asked, Side, compare, sides
from torch import nn
from torchrl.envs import (
    SerialEnv,
)

from collectorfleet.actor.config import CollectorConfig, RolloutLoop


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize("name", ["reset by the mask", "says terminated and truncated", "eager"])
def test_recorded_steps_give_the_same_frames(graphs: list[Pretended], name: str, draws: bool) -> None:
    make = partial(tensor_envs.EagerWalks, 4) if name == "eager" else TENSORS[name]
    theirs, ours = sides(make, partial(bounded_policy, draws=draws), 24, **RECORDED)
    compare(theirs, ours, (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)))
    (graph,) = graphs
    assert graph.replays > 15
    wanted = (
        "the policy as a CUDA graph: EagerWalks does not declare capturable" if name == "eager" else "as a CUDA graph"
    )
    assert ours.runner.loop == f"Fast, with tensors on cpu, {wanted}"


@pytest.mark.parametrize("draws", [False, True], ids=["computes", "draws"])
@pytest.mark.parametrize(
    ("make", "loop"),
    [
        pytest.param(make_chance, "Fast", id="one"),
        pytest.param(partial(SerialEnv, 3, make_chance), "Fast", id="several"),
        pytest.param(several_kinds, "Fast, by the environment's own step", id="of two kinds"),
    ],
)
def test_a_recorded_policy_acts_in_other_environments(
    graphs: list[Pretended], make: Make, loop: str, draws: bool
) -> None:
    theirs, ours = sides(make, partial(bounded_policy, draws=draws), 24, **RECORDED)
    compare(theirs, ours, (Asked(10), Asked(6, cut_after=3), Asked(5, random=True), Asked(10)))
    assert ours.runner.loop.partition(":")[0] == loop
    (graph,) = graphs
    assert graph.replays > 15


class Constant(nn.Module):
    """The action is the one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.weight.expand(*observation.shape[:-1], 2)


@pytest.mark.parametrize("recorded", [False, True])
def test_each_version_of_the_weights_acts_from_its_step_on(graphs: list[Pretended], recorded: bool) -> None:
    config = CollectorConfig(
        partial(tensor_envs.MaskedWalks, 3),
        None,
        24,
        policy_factory=lambda: TensorDictModule(Constant(), ["observation"], ["action"]),
        update_between_steps=True,
        options={"cudagraph_policy": recorded},
    )
    side = Side(config, RolloutLoop.FAST, 0)
    weight = side.runner.collector.policy.module.weight
    versions = iter(range(1, 100))

    def publish() -> None:
        with torch.no_grad():
            weight.fill_(float(next(versions)) / 100)

    side.runner.collector.call_before_policy(publish)
    for first in (1, 9):
        batch = side.run(Asked(8)).batch
        assert batch is not None
        wanted = torch.arange(first, first + 8) / 100
        assert torch.equal(batch["action"], wanted.view(1, 8, 1).expand(3, 8, 2))
    assert bool(graphs) == recorded


class Windy(tensor_envs.MaskedWalks):
    """The reward is a number, which is an attribute."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.wind = 1.0

    def _reached(self, *given: torch.Tensor) -> Any:
        found = super()._reached(*given)
        return found | {"reward": torch.full_like(found["reward"], self.wind)}


class Scaled(nn.Module):
    """The action is a number, which is an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 0.0

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(observation[..., :2]) + self.scale


def test_a_number_that_is_changed_after_it_was_recorded_counts(graphs: list[Pretended]) -> None:
    def scaled() -> TensorDictModule:
        return TensorDictModule(Scaled(), ["observation"], ["action"])

    _, ours = sides(partial(Windy, 4), scaled, 24, **RECORDED)
    collector = ours.runner.collector
    for number in (1.0, 0.5, 0.25):
        collector.env.wind = number
        ours.run(Asked(8))
        collector.policy.module.scale = number
        batch = ours.run(Asked(8)).batch
        assert batch is not None
        assert batch["next", "reward"].unique().tolist() == [number]
        assert batch["action"].unique().tolist() == [number]
    assert len(graphs) == 6


class Assigning(tensor_envs.MaskedWalks):
    """Keeps the reward of the last step, as a tensor of its own or as a number."""

    def __init__(self, count: int, number: bool) -> None:
        super().__init__(count)
        self._number = number
        self.kept: Any = torch.zeros(count, 1)

    def _reached(self, *given: torch.Tensor) -> Any:
        found = super()._reached(*given)
        self.kept = len(str(self.kept)) if self._number else self.kept + found["reward"]
        return found


@pytest.mark.parametrize("number", [False, True])
@pytest.mark.usefixtures("graphs")
def test_what_an_environment_assigns_in_a_step_is_not_recorded(number: bool) -> None:
    _, ours = sides(partial(Assigning, 4, number), partial(bounded_policy, draws=False), 24, **RECORDED)
    with pytest.raises(ValueError, match=r"Assigning\.kept is assigned in each step"):
        ours.run(Asked(8))


@pytest.mark.parametrize("how", ["data of a weight", "tensor of the environment"])
def test_a_tensor_at_another_address_is_recorded_again(graphs: list[Pretended], how: str) -> None:
    _, ours = sides(partial(tensor_envs.MaskedWalks, 4), partial(bounded_policy, draws=False), 24, **RECORDED)
    ours.run(Asked(8))
    collector = ours.runner.collector
    if how == "data of a weight":
        weight = collector.policy.module[0].weight
        weight.data = weight.data.clone()
    else:
        collector.env._place = collector.env._place.clone()
    ours.run(Asked(8))
    assert len(graphs) == 2
