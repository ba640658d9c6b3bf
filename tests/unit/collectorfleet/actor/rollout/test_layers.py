"""A network's layers one after the other compute what the network computes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict.nn import TensorDictModule
from tests.gym_envs import make_chance
from tests.unit.collectorfleet.actor.rollout.sides import Asked, assert_equal, sides
from torch import nn
from torchrl.modules import MLP, ConvNet

from collectorfleet.actor.rollout.layers import find_layers


class Doubling(nn.Sequential):
    def forward(self, value: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = 2 * super().forward(value)
        return found


class Calling(nn.Linear):
    def __call__(self, value: torch.Tensor) -> Any:
        return 3 * super().__call__(value)


ONCE = nn.Tanh()


@pytest.mark.parametrize(
    ("network", "count"),
    [
        (nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), 3),
        (nn.Sequential(nn.Identity(), nn.Sequential(nn.Linear(3, 8), nn.ReLU()), Doubling(nn.Linear(8, 2))), 3),
        (nn.Sequential(nn.Linear(3, 8), ONCE, nn.Linear(8, 8), ONCE), 4),
        (MLP(in_features=3, out_features=2, num_cells=[8, 8]), 5),
    ],
    ids=["sequential", "nested", "a layer twice", "MLP"],
)
def test_layers_compute_what_the_network_does(network: nn.Module, count: int) -> None:
    layers = find_layers(network)
    assert layers is not None
    assert len(layers) == count
    value = torch.randn(4, 3)
    wanted = network(value)
    for layer in layers:
        value = layer(value)
    assert torch.equal(value, wanted)


@pytest.mark.parametrize(
    "network",
    [
        nn.Linear(3, 2),
        torch.tanh,
        MLP(in_features=3, out_features=(2, 2), num_cells=[8]),
        nn.Sequential(Calling(3, 8), nn.Tanh()),
        nn.Sequential(nn.LazyLinear(8), nn.Tanh()),
        ConvNet(in_features=3),
    ],
    ids=["one layer", "function", "reshaping", "called otherwise", "not yet made", "other container"],
)
def test_what_torch_does_more_about_is_called_as_it_is(network: Any) -> None:
    assert find_layers(network) is None


def test_hooks_on_layers_are_called_whenever_they_come() -> None:
    network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    theirs, ours = sides(make_chance, lambda: TensorDictModule(network, ["observation"], ["action"]), 12)
    assert_equal(theirs.run(Asked(12)), ours.run(Asked(12)))
    hook = network[1].register_forward_hook(lambda _, __, output: output / 2)
    assert find_layers(network) is None
    assert_equal(theirs.run(Asked(12)), ours.run(Asked(12)))
    hook.remove()
    everywhere = nn.modules.module.register_module_forward_hook(lambda *_: None)
    assert find_layers(network) is None
    everywhere.remove()
    assert find_layers(network) is not None
    assert_equal(theirs.run(Asked(12)), ours.run(Asked(12)))
