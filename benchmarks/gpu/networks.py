"""Networks that act on images. The module imports only torch, so that processes that only act start fast."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn

PIXELS = (4, 84, 84)
ACTIONS = 6


class _Images(nn.Module):
    """Scales uint8 ``[frames, 4, 84, 84]`` for ``network``. Returns the best actions, int64 ``[frames]``."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor) -> Tensor:
        scored: Tensor = self.network(observation.float() / 255)
        return scored.argmax(-1)


def nature_cnn() -> nn.Module:
    """Return the network of DQN's Nature paper: 1.7 M parameters."""
    layers = [nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU()]
    return _Images(nn.Sequential(*layers, nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, ACTIONS)))


class _Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        same = before == after and stride == 1
        self.skip = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.main(x) + self.skip(x))


def resnet() -> nn.Module:
    """Return a ResNet-18 for four channels: 11.2 M parameters."""
    stem = [nn.Conv2d(4, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    widths = (64, 64, 128, 256, 512)
    blocks = []
    for before, after in itertools.pairwise(widths):
        blocks += [_Block(before, after, 1 if before == after else 2), _Block(after, after, 1)]
    return _Images(nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, ACTIONS)))


NETWORKS: dict[str, Callable[[], nn.Module]] = {"Nature CNN": nature_cnn, "ResNet": resnet}
