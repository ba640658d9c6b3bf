"""Call a policy without making a TensorDict. The policy consists of TensorDictModules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
)
from tensordict.nn.distributions import CompositeDistribution
from torch import nn
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

from collectorfleet.actor.rollout.exact import FastLoopUnsupported, require
from collectorfleet.actor.rollout.module_calls import Call, DirectCall, DrawCall, RandomCall, TensorDictCall, key_name
from collectorfleet.actor.rollout.recording import GraphedFunction, Values
from collectorfleet.torchrl_private.collectors import compile_with_warmup
from collectorfleet.torchrl_private.policies import (
    draws,
    generator_key,
    modules_of,
    selects_entries,
    takes_by_name,
)

_ONE: Final = (TensorDictModule, SafeModule, Actor, ValueOperator)
_SEVERAL: Final = (
    *(TensorDictSequential, SafeSequential, ActorValueOperator),
    *(ProbabilisticTensorDictSequential, SafeProbabilisticTensorDictSequential, ProbabilisticActor, QValueActor),
)
# These modules take a TensorDict, read only their in_keys and write only their out_keys.
_WHOLE: Final = (QValueModule, EGreedyModule, AdditiveGaussianModule)
_DRAWING: Final = (ProbabilisticTensorDictModule, SafeProbabilisticModule)


class Policy:
    """A policy that reads its inputs from a dictionary of tensors, and writes its outputs into the same dictionary.

    ``reads`` are the keys of the frame that the policy reads. ``writes`` are the keys of its outputs, in order. This
    class does not call hooks of ``modules``, and reads the settings of ``modules`` only once. If ``device`` is not
    None, the policy is on ``device``, and the frames are on the CPU. In this case, a call copies the inputs to
    ``device`` and the outputs to the CPU.
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
            if isinstance(call, DirectCall):
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
            # Tell torch that the next call may overwrite the graph's outputs of the previous call. The caller has
            # already copied these outputs.
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
        require(policy.action_key == "action", "RandomPolicy writes a key other than 'action'")
        return Policy([RandomCall(policy, batch_size)], ["action"], [], None)
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
                f"the policy reads {key_name(key)}, but neither the environment nor an earlier module writes this "
                "entry",
            )
        found.reads |= set(module.in_keys) - set(found.writes)
        written = [key for key in module.out_keys if key != "_"]
        for key in written:
            require(key not in known, f"the policy writes {key_name(key)}, which is an entry of the environment")
        there |= set(written)
        found.add(call)
        found.writes += [key for key in written if key not in found.writes]
    return found


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
        drawing = [isinstance(call, DrawCall) for _, call in inner]
        require(not any(drawing[:-1]), f"{kind.__name__} samples before its last module")
        yield from inner
    elif kind in _DRAWING:
        require(policy.num_samples is None, "num_samples requests several actions")
        require(generator_key(policy) is None, "the random generator is an entry of the data")
        require(policy.distribution_class is not CompositeDistribution, "the policy has a CompositeDistribution")
        yield policy, DrawCall(policy)
    elif kind in _ONE:
        require(not takes_by_name(policy), "a module gets its inputs as keyword arguments")
        require(policy.inplace in (None, True), f"{kind.__name__} is not inplace")
        require(list(policy.out_keys) == list(policy.out_keys_source), f"{kind.__name__} has selected out_keys")
        yield policy, DirectCall(policy)
    elif kind in _WHOLE:
        yield policy, TensorDictCall(policy, batch_size)
    else:
        raise FastLoopUnsupported(f"{kind.__name__} in the policy may read and write any entry")
