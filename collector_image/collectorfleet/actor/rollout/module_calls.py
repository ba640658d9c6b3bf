"""Call the modules of a policy with a dictionary of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    TensorDictModule,
)
from tensordict.nn.probabilistic import InteractionType, interaction_type
from torch import Tensor
from torchrl.modules import (
    RandomPolicy,
    SafeProbabilisticModule,
)
from torchrl.modules.distributions.utils import sample_and_log_prob
from torchrl.modules.tensordict_module.probabilistic import use_generator

from collectorfleet.actor.rollout.draws import Draw, RandomState, find_draw
from collectorfleet.actor.rollout.exact import require
from collectorfleet.actor.rollout.layers import find_layers
from collectorfleet.actor.rollout.recording import Values
from collectorfleet.torchrl_private.policies import (
    call_module,
    draw,
    generator_of,
)

Call = Callable[[Values], None]

# Types that a module may return for several entries.
_BY_KEY: Final = (dict, TensorDictBase)


class RandomCall:
    """The call of a ``RandomPolicy``."""

    def __init__(self, policy: RandomPolicy, batch_size: torch.Size) -> None:
        self._policy = policy
        self._batch_size = batch_size

    def __call__(self, values: Values) -> None:
        values["action"] = self._policy(TensorDict(batch_size=self._batch_size)).get("action")


class DirectCall:
    """The call of a ``TensorDictModule`` without a TensorDict."""

    def __init__(self, module: TensorDictModule) -> None:
        self._in = tuple(module.in_keys)
        self._out = tuple(module.out_keys_source)
        # The inner module, which can be called directly. None: the outer module calls another method of the inner
        # module, or adds arguments.
        self._plain = module.module if module.method is None and not module.method_kwargs else None
        self._module = module
        self._layers: list[Callable[[Tensor], Any]] | None = None

    def begin(self) -> None:
        """Look up the layers again, because hooks and layers may have changed."""
        self._layers = find_layers(self._plain) if self._plain is not None and len(self._in) == 1 else None

    def __call__(self, values: Values) -> None:
        if self._layers is not None:
            made: Any = values[self._in[0]]
            for layer in self._layers:
                made = layer(made)
        else:
            given = [values[key] for key in self._in]
            made = call_module(self._module, given) if self._plain is None else self._plain(*given)
        if isinstance(made, Tensor) and len(self._out) == 1:
            values[self._out[0]] = made
            return
        if not isinstance(made, tuple) and isinstance(made, _BY_KEY):
            made = tuple(made.get(key) for key in self._out)
        elif not isinstance(made, tuple):
            made = (made,)
        if len(made) != len(self._out) or not all(isinstance(one, Tensor) for one in made):
            kinds = ", ".join(type(one).__name__ for one in made)
            raise TypeError(
                f"the policy returns {kinds} for {', '.join(map(key_name, self._out))}; return one tensor for each"
            )
        values.update(zip(self._out, made, strict=True))


class TensorDictCall:
    """The call of a module that needs a TensorDict."""

    def __init__(self, module: Any, batch_size: torch.Size) -> None:
        self._module = module
        self._batch_size = batch_size

    def __call__(self, values: Values) -> None:
        given = {key: values[key] for key in self._module.in_keys}
        found = self._module(TensorDict(given, self._batch_size))
        values.update({key: found.get(key) for key in self._module.out_keys})


class DrawCall:
    """The draw of a ``ProbabilisticTensorDictModule``, with the same result as a call of the module."""

    def __init__(self, module: ProbabilisticTensorDictModule) -> None:
        self._module = module
        self._sample = module.dist_sample_keys[0]
        require(len(module.dist_sample_keys) == 1, "the policy samples several entries at once")
        self._log_prob = module.log_prob_key if module.return_log_prob else None
        self._at_once = isinstance(module, SafeProbabilisticModule) and module.return_log_prob
        self._parameters = list(zip(module.dist_keys, module.in_keys, strict=True))
        self._draw = find_draw(module, log_prob=self._log_prob is not None)
        self._compared = False

    def __call__(self, values: Values) -> None:
        kind = interaction_type() or self._module.default_interaction_type
        if self._draw is None or kind is not InteractionType.RANDOM or generator_of(self._module) is not None:
            self._by_distribution(values, kind)
        elif self._compared:
            drawn, log_prob = self._draw({name: values[key] for name, key in self._parameters})
            values[self._sample] = drawn
            if log_prob is not None:
                values[self._log_prob] = log_prob
        else:
            self._compared = True
            self._draw = self._draw if self._compare(values, self._draw) else None

    def _compare(self, values: Values, draw: Draw) -> bool:
        """Draw from the distribution object, and compare the draw with the result of ``draw``.

        Return whether the two results and the two generator states are equal. They may differ in other versions of
        torch or TorchRL, or for unusual shapes of the parameters.
        """
        parameters = {name: values[key] for name, key in self._parameters}
        random = RandomState.of(next(iter(parameters.values())).device)
        before = random.get()
        try:
            found = draw(parameters)
        except (RuntimeError, IndexError):
            found = None
        after = random.get()
        random.set(before)
        self._by_distribution(values, InteractionType.RANDOM)
        wanted = values[self._sample], None if self._log_prob is None else values[self._log_prob]
        return found is not None and torch.equal(after, random.get()) and all(map(_same, found, wanted))

    def _by_distribution(self, values: Values, kind: InteractionType) -> None:
        module = self._module
        dist = module.get_dist(values)
        generator = generator_of(module)
        random = kind is InteractionType.RANDOM
        if self._at_once and random:
            with use_generator(generator):
                drawn, log_prob = sample_and_log_prob(dist, torch.Size(), reparameterize=dist.has_rsample)
            values[self._sample], values[self._log_prob] = drawn, log_prob
            return
        drawn = draw(module, dist, interaction_type=kind, generator=generator)
        values[self._sample] = drawn
        if self._log_prob is not None:
            values[self._log_prob] = dist.log_prob(drawn)


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and torch.equal(one, other)


def key_name(key: Any) -> str:
    """Return the name of an entry for a message."""
    return key if isinstance(key, str) else ".".join(key)
