"""Draw from common distributions without distribution objects. Creating such an object takes more time than the draw.

With the same generator state, each draw equals the draw of the distribution class in every bit, with fewer calls of
torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import torch
from tensordict.nn import ProbabilisticTensorDictModule
from torch import Tensor
from torch.nn.functional import softplus
from torchrl.modules import OneHotCategorical, TanhNormal

# A function that takes the parameters by name. The function returns the draw and its log-probability. The
# log-probability is None if it is not requested.
Draw = Callable[[Mapping[str, Tensor]], tuple[Tensor, Tensor | None]]

_LOG_ROOT_OF_TWO_PI: Final = math.log(math.sqrt(2 * math.pi))
_BOUNDS: Final = {"low", "high"}


class RandomState(NamedTuple):
    """Reads and sets the state of a device's default generator."""

    get: Callable[[], Tensor]
    set: Callable[[Tensor], None]

    @classmethod
    def of(cls, device: torch.device) -> RandomState:
        if device.type != "cuda":
            return cls(torch.get_rng_state, torch.set_rng_state)
        return cls(partial(torch.cuda.get_rng_state, device), partial(torch.cuda.set_rng_state, device=device))


def find_draw(module: ProbabilisticTensorDictModule, *, log_prob: bool) -> Draw | None:
    """Return a function that draws as ``module`` does. Return None if the distribution is not supported."""
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
        drawn = _choose(probabilities).view(*logits.shape[:-1], 1)
        log_prob = logits.gather(-1, drawn).squeeze(-1) if self._log_prob else None
        return torch.zeros(logits.shape, dtype=torch.long, device=logits.device).scatter_(-1, drawn, 1), log_prob


def _choose(probabilities: Tensor) -> Tensor:
    """Draw one index for each row, ``[rows, 1]``, as ``torch.multinomial`` does."""
    if not probabilities.is_cuda:
        return torch.multinomial(probabilities, 1, replacement=True)
    # On a GPU, multinomial checks the probabilities, and the host has to wait for the check. The next line draws the
    # same index without the check.
    return torch.div(probabilities, torch.empty_like(probabilities).exponential_(1)).argmax(-1, keepdim=True)


class _Tanh:
    """A draw from a normal distribution. The draw is mapped into bounds by tanh."""

    def __init__(self, log_prob: bool, low: Any = -1.0, high: Any = 1.0) -> None:
        self._log_prob = log_prob
        low, high = torch.as_tensor(low), torch.as_tensor(high)
        self._stretched = bool((high != 1.0).any() or (low != -1.0).any())
        self._middle, self._half = (high + low) / 2, (high - low) / 2

    def __call__(self, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        loc, scale = parameters["loc"], parameters["scale"]
        if self._middle.device != loc.device:
            self._middle, self._half = self._middle.to(loc.device), self._half.to(loc.device)
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
