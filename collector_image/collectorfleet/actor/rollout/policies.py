"""Call a policy that consists of TensorDictModules without making a TensorDict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from tensordict import TensorDict, TensorDictBase
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)
from tensordict.nn.distributions import CompositeDistribution
from tensordict.nn.probabilistic import InteractionType, interaction_type
from torch import Tensor, nn
from torchrl.modules import (
    Actor,
    ActorValueOperator,
    AdditiveGaussianModule,
    EGreedyModule,
    ProbabilisticActor,
    QValueActor,
    QValueModule,
    RandomPolicy,
    SafeModule,
    SafeProbabilisticModule,
    SafeProbabilisticTensorDictSequential,
    SafeSequential,
    ValueOperator,
)
from torchrl.modules.distributions.utils import sample_and_log_prob
from torchrl.modules.tensordict_module.probabilistic import use_generator

from collectorfleet.actor.rollout.draws import Draw, RandomState, find_draw
from collectorfleet.actor.rollout.exact import FastLoopUnsupported, require
from collectorfleet.actor.rollout.layers import find_layers
from collectorfleet.actor.rollout.recording import GraphedFunction, Values
from collectorfleet.torchrl_private.collectors import compile_with_warmup
from collectorfleet.torchrl_private.policies import (
    call_module,
    draw,
    draws,
    generator_key,
    generator_of,
    modules_of,
    selects_entries,
    takes_by_name,
)

Call = Callable[[Values], None]

_ONE: Final = (TensorDictModule, SafeModule, Actor, ValueOperator)
_SEVERAL: Final = (
    *(TensorDictSequential, SafeSequential, ActorValueOperator),
    *(ProbabilisticTensorDictSequential, SafeProbabilisticTensorDictSequential, ProbabilisticActor, QValueActor),
)
# These modules take a TensorDict, read only their in_keys and write only their out_keys.
_WHOLE: Final = (QValueModule, EGreedyModule, AdditiveGaussianModule)
# Types that a module may return for several entries.
_BY_KEY: Final = (dict, TensorDictBase)
_DRAWING: Final = (ProbabilisticTensorDictModule, SafeProbabilisticModule)


class Policy:
    """A policy that reads its inputs from a dictionary of tensors, and writes its outputs into the same dictionary.

    ``reads`` are the keys of the frame that the policy reads. ``writes`` are the keys of its outputs, in order. This
    class does not call hooks of ``modules``, and reads the settings of ``modules`` only once. If ``device`` is not
    None, the policy is on ``device`` and the frames are on the CPU. In this case the policy copies inputs to ``device``
    and outputs to the CPU.
    """

    def __init__(
        self, calls: Sequence[Call], writes: Sequence[Any], modules: Sequence[nn.Module], device: torch.device | None
    ) -> None:
        self.reads: set[Any] = set()
        self.writes = list(writes)
        self._calls = list(calls)
        self.modules = list(modules)
        self._device = device
        self._whole: Callable[[Values], Values] | None = None
        self.is_recorded = False

    def add(self, call: Call) -> None:
        """Add ``call`` after the present calls."""
        self._calls.append(call)

    def compile(self, **options: Any) -> None:
        """Compile the calls as one function after the first call, with ``options`` of ``torch.compile``."""
        self._whole = compile_with_warmup(self._call_each, **options)

    def record(self) -> None:
        """Record the calls as one CUDA graph after a few calls."""
        self._whole = GraphedFunction(self._whole or self._call_each)
        self.is_recorded = True

    def begin(self) -> None:
        """Look up the layers of the modules before a rollout, because hooks and layers may have changed."""
        if self._whole is not None:
            return
        for call in self._calls:
            if isinstance(call, _Computing):
                call.begin()

    def __call__(self, values: Values) -> None:
        if self._whole is None and self._device is None:
            for call in self._calls:
                call(values)
            return
        read = {key: values[key] for key in self.reads}
        if self._device is not None:
            read = {key: tensor.to(self._device) for key, tensor in read.items()}
        if self._whole is None:
            outputs = self._call_each(read)
        else:
            # This call may overwrite the graph's outputs of the previous call. The caller has already copied these
            # outputs.
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            outputs = self._whole(read)
        values.update(outputs if self._device is None else {key: tensor.cpu() for key, tensor in outputs.items()})

    def _call_each(self, read: Values) -> Values:
        values = dict(read)
        for call in self._calls:
            call(values)
        return {key: values[key] for key in self.writes}

    @property
    def hooked(self) -> bool:
        """Whether one of the modules now has hooks."""
        return any(module._forward_hooks or module._forward_pre_hooks for module in self.modules)


def find_policy(
    policy: Any, known: Sequence[Any], batch_size: torch.Size, device: torch.device | None = None
) -> Policy:
    """Return ``policy`` as a :class:`Policy`, for frames with the keys ``known``. ``device`` is the policy's device.

    Raises:
        FastLoopUnsupported: a module is not supported, or a module reads an entry that neither the environment nor an
            earlier module writes.
    """
    if type(policy) is RandomPolicy:
        require(policy.action_key == "action", "RandomPolicy writes a key other than action")
        return Policy([_Random(policy, batch_size)], ["action"], [], None)
    device = None if device is None or device.type == "cpu" else device
    modules: list[tuple[Any, Call | None]] = list(_unrolled(policy, batch_size))
    found = Policy([], [], [module for module, _ in modules], device)
    require(not found.hooked, "a module of the policy has hooks")
    there = set(known)
    for module, call in modules:
        if call is None:
            continue
        for key in module.in_keys:
            require(
                key in there,
                f"the policy reads {_name(key)}, but neither the environment nor an earlier module writes this entry",
            )
        found.reads |= set(module.in_keys) - set(found.writes)
        written = [key for key in module.out_keys if key != "_"]
        for key in written:
            require(key not in known, f"the policy writes {_name(key)}, which is an entry of the environment")
        there |= set(written)
        found.add(call)
        found.writes += [key for key in written if key not in found.writes]
    return found


class _Random:
    def __init__(self, policy: RandomPolicy, batch_size: torch.Size) -> None:
        self._policy = policy
        self._batch_size = batch_size

    def __call__(self, values: Values) -> None:
        values["action"] = self._policy(TensorDict(batch_size=self._batch_size)).get("action")


def _unrolled(policy: Any, batch_size: torch.Size) -> Iterator[tuple[Any, Call | None]]:
    """Yield each module with its call, in order. The call of a container is None."""
    kind = type(policy)
    if kind in _SEVERAL:
        require(not selects_entries(policy), f"{kind.__name__} has selected out_keys")
        require(not policy.partial_tolerant, f"{kind.__name__} is partial_tolerant")
        require(policy.inplace in (None, True), f"{kind.__name__} is not inplace")
        if isinstance(policy, ProbabilisticTensorDictSequential):
            require(not policy.return_composite, f"{kind.__name__} returns a composite of distributions")
            require(draws(policy), f"{kind.__name__} does not sample actions itself")
        yield policy, None
        if isinstance(policy.module, nn.ModuleList):
            yield policy.module, None  # included, because the user may replace one of its modules
        inner = [one for module in modules_of(policy) for one in _unrolled(module, batch_size)]
        # TorchRL's containers use the collector's exploration type only for the last module.
        drawing = [isinstance(call, _Drawing) for _, call in inner]
        require(not any(drawing[:-1]), f"{kind.__name__} samples before its last module")
        yield from inner
    elif kind in _DRAWING:
        require(policy.num_samples is None, "num_samples requests several actions")
        require(generator_key(policy) is None, "the random generator is an entry of the data")
        require(policy.distribution_class is not CompositeDistribution, "the policy has a CompositeDistribution")
        yield policy, _Drawing(policy)
    elif kind in _ONE:
        require(not takes_by_name(policy), "a module gets its inputs as keyword arguments")
        require(policy.inplace in (None, True), f"{kind.__name__} is not inplace")
        require(list(policy.out_keys) == list(policy.out_keys_source), f"{kind.__name__} has selected out_keys")
        yield policy, _Computing(policy)
    elif kind in _WHOLE:
        yield policy, _Whole(policy, batch_size)
    else:
        raise FastLoopUnsupported(f"{kind.__name__} in the policy may read and write any entry")


class _Computing:
    """The call of a ``TensorDictModule`` without a TensorDict."""

    def __init__(self, module: TensorDictModule) -> None:
        self._in = tuple(module.in_keys)
        self._out = tuple(module.out_keys_source)
        # The inner module, if it can be called directly. None: the outer module calls another method, or adds
        # arguments.
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
                f"the policy returns {kinds} for {', '.join(map(_name, self._out))}; return one tensor for each"
            )
        values.update(zip(self._out, made, strict=True))


class _Whole:
    """The call of a module that needs a TensorDict."""

    def __init__(self, module: Any, batch_size: torch.Size) -> None:
        self._module = module
        self._batch_size = batch_size

    def __call__(self, values: Values) -> None:
        given = {key: values[key] for key in self._module.in_keys}
        found = self._module(TensorDict(given, self._batch_size))
        values.update({key: found.get(key) for key in self._module.out_keys})


class _Drawing:
    """The draw of a ``ProbabilisticTensorDictModule``, with the result that the module itself would give."""

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
        """Draw from the distribution object.

        Return whether ``draw`` gives the same result and the same generator state. Both may differ in other versions of
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


def _name(key: Any) -> str:
    return key if isinstance(key, str) else ".".join(key)
