"""Draws from common distributions without their objects, which cost more than the draw.

Each gives bit for bit what the class gives with the same generator, in fewer calls of torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from tensordict.nn import ProbabilisticTensorDictModule
from torch import Tensor
from torch.nn.functional import softplus
from torchrl.modules import OneHotCategorical, TanhNormal

# From parameters by name to what is drawn and its log-probability, which is None unless it is asked for.
Draw = Callable[[Mapping[str, Tensor]], tuple[Tensor, Tensor | None]]

_LOG_ROOT_OF_TWO_PI: Final = math.log(math.sqrt(2 * math.pi))
_BOUNDS: Final = {"low", "high"}


def find_draw(module: ProbabilisticTensorDictModule, *, log_prob: bool) -> Draw | None:
    """How to draw what ``module`` draws, None if only its distribution knows."""
    settings = dict(module.distribution_kwargs)
    parameters = list(module.dist_keys)
    if module.distribution_class is OneHotCategorical and parameters == ["logits"] and not settings:
        return _OneHot(log_prob)
    if module.distribution_class is TanhNormal and set(parameters) == {"loc", "scale"} and set(settings) <= _BOUNDS:
        return _Tanh(log_prob, **settings)
    return None


class _OneHot:
    def __init__(self, log_prob: bool) -> None:
        self._log_prob = log_prob

    def __call__(self, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        logits = parameters["logits"]
        logits = logits - logits.logsumexp(-1, keepdim=True)
        probabilities = logits.softmax(-1)
        if logits.ndim > 2:
            probabilities = probabilities.flatten(end_dim=-2)
        drawn = torch.multinomial(probabilities, 1, replacement=True).view(*logits.shape[:-1], 1)
        log_prob = logits.gather(-1, drawn).squeeze(-1) if self._log_prob else None
        return torch.zeros(logits.shape, dtype=torch.long).scatter_(-1, drawn, 1), log_prob


class _Tanh:
    """A normal distribution's draw, squashed into bounds."""

    def __init__(self, log_prob: bool, low: Any = -1.0, high: Any = 1.0) -> None:
        self._log_prob = log_prob
        low, high = torch.as_tensor(low), torch.as_tensor(high)
        self._stretched = bool((high != 1.0).any() or (low != -1.0).any())
        self._middle, self._half = (high + low) / 2, (high - low) / 2

    def __call__(self, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        loc, scale = parameters["loc"], parameters["scale"]
        before = loc + torch.empty_like(loc).normal_() * scale
        most = 1.0 - torch.finfo(loc.dtype).resolution
        drawn = before.tanh().clamp(-most, most)
        if self._stretched:
            drawn = self._middle + self._half * drawn
        return drawn, self._score(before, loc, scale) if self._log_prob else None

    def _score(self, before: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        score = -((before - loc) ** 2) / (2 * scale**2) - scale.log() - _LOG_ROOT_OF_TWO_PI
        stretch = 2.0 * (math.log(2.0) - before - softplus(-2.0 * before))
        if self._stretched:
            stretch = stretch + self._half.abs().log().expand(before.shape)
        return score.sum(-1) - stretch.sum(-1)
