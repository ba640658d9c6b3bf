"""Step environments that are batches of tensors, such as simulators on a GPU, without TorchRL's ``step``.

The methods of :class:`TensorEnvironment` do the work of ``EnvBase.step_and_maybe_reset`` with fewer kernels. They take
and return tensors ``[environments, ...]`` by key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, Final

import torch
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.envs import (
    CatTensors,
    Compose,
    DoubleToFloat,
    EnvBase,
    InitTracker,
    ObservationNorm,
    RewardClipping,
    RewardScaling,
    RewardSum,
    StepCounter,
    Transform,
    TransformedEnv,
)
from torchrl.envs.batched_envs import BatchedEnvBase

from collectorfleet.actor.rollout.exact import require
from collectorfleet.actor.rollout.memory import ENDS
from collectorfleet.actor.rollout.recording import Values
from collectorfleet.torchrl_private.environments import (
    PROCESSING,
    RESET_KEY,
    SETTINGS,
    STEPPING,
    allows_done_after_reset,
    call_reset,
    call_reset_hook,
    call_step,
    compiles_step,
    has_dynamic_specs,
    has_own_reset_hook,
    has_simple_ends,
    hooks_after_step,
    reset_options,
    resets_itself,
    step_rules,
)
from collectorfleet.torchrl_private.tensordicts import tensordict_of
from collectorfleet.torchrl_private.transforms import has_hooks_after_step

# Names of attributes with which an environment declares its capabilities, see docs/gpu-simulators.md.
MASKED_RESET: Final = "masked_reset"
CAPTURABLE: Final = "capturable"

# TorchRL's transforms that have the capabilities above, although they do not declare them.
_CAPTURABLE: Final = (CatTensors, DoubleToFloat, InitTracker, RewardClipping, RewardSum, StepCounter)
# In each call, these transforms read one of their tensors on the host. So the host waits for the device.
_READING: Final = (ObservationNorm, RewardScaling)
_MASKED: Final = (*_CAPTURABLE, *_READING)
_KEPT: Final = (Tensor, bool, int, float, str)
_INIT: Final = "is_init"


class TensorEnvironment:
    """Steps and resets an environment ``env`` that consists of batched tensors.

    ``waits`` is the reason why the host waits for the device in each step. It is None if the host does not wait.
    ``capture_problem`` is the reason why CUDA cannot record a step as a graph. It is None if CUDA can record a step.
    """

    def __init__(self, env: EnvBase) -> None:
        _require_tensors(env)
        self.env = env
        self._parts = parts = [base_of(env), *transforms(env)]
        self._native = resets_itself(env)
        # Whether, in TorchRL's loop, an observation and ``next`` of the previous step are the same memory.
        self.shares_observations = not self._native
        on_host = None if self._native else _first_without(parts, MASKED_RESET, _MASKED)
        self._resets_on_host = on_host is not None
        reads = next((type(one).__name__ for one in parts if type(one) in _READING), None)
        self.waits = on_host or (None if reads is None else f"{reads} reads a tensor on the host")
        self.capture_problem = self.waits or _first_without(parts, CAPTURABLE, _CAPTURABLE)
        self.allows_done_after_reset = self._native or allows_done_after_reset(env)
        step = step_rules(env)
        self._observations = list(step.observation_keys)
        self._ends = list(env.done_keys)
        counted = [key for key in env.reward_keys if key in step.state_keys]
        self._of_next = {*step.observation_keys, *step.done_keys, *counted}
        self.keys = list(dict.fromkeys([*step.observation_keys, *step.state_keys, *step.done_keys]))
        self._rewards = [(key, env.full_reward_spec[key].shape) for key in env.reward_keys]
        self._end_shapes = [(key, env.full_done_spec[key].shape) for key in self._ends]
        self._reset_options = reset_options(env)
        self._has_native_hook = has_own_reset_hook(env)

    @contextmanager
    def written_in_place(self) -> Iterator[None]:
        """Raise ValueError if code inside the context assigns a new value to an attribute.

        The replay of a CUDA graph does not repeat such assignments.
        """
        before = _kept(self._parts)
        yield
        for name, value in _kept(self._parts).items():
            old = before.get(name)
            if value is not old and (isinstance(value, Tensor) or isinstance(old, Tensor) or value != old):
                raise ValueError(
                    f"{name} is assigned in each step, but a CUDA graph does not repeat assignments; use copy_() on "
                    f"an existing tensor, or do not declare {CAPTURABLE}"
                )

    def assigned(self) -> list[Any]:
        """Return the values of the attributes that affect a step, for ``env`` and all inner environments."""
        names = (*STEPPING, *SETTINGS)
        return [vars(one).get(name) for one in layers(self.env) for name in names]

    def read(self, carrier: TensorDictBase) -> Values:
        """Return those entries of ``carrier`` that belong to the environment."""
        found = {key: carrier.get(key, None) for key in self.keys}
        return {key: tensor for key, tensor in found.items() if tensor is not None}

    def step(self, now: Values, outputs: Values) -> Values:
        """Step all environments with the policy's ``outputs``.

        Return the new observations, the rewards and the ends.
        """
        entries = {**now, **outputs}
        self._versions = {key: version_of(tensor) for key, tensor in now.items()}
        self._given = self._tensordict(dict(entries))
        self._entries = entries
        reached = self._on_own_device(call_step(self.env, self._given))
        for key, shape in self._rewards:
            if reached[key].shape != shape:
                reached[key] = reached[key].view(shape)
        self._complete_ends(reached)
        if self._native:
            self._hide_lost_observations(reached)
        return reached

    def changed_input(self, reached: Values) -> Values:
        """Return the entries of the input TensorDict that the environment changed in the last step.

        An environment may write its results ``reached`` into the tensors of its input. Such writes do not count as
        changes.
        """
        into = [key for key, version in self._versions.items() if version_of(self._entries[key]) != version]
        written = {key for key in into if not _share_memory(self._entries[key], reached.get(key))}
        return {
            key: entry for key, entry in self._given.items() if key in written or entry is not self._entries.get(key)
        }

    def _on_own_device(self, found: TensorDictBase) -> Values:
        """Return the entries of ``found``, moved to the environment's device."""
        device = self.env.device
        return {
            key: entry if device is None or entry.device == device else entry.to(device) for key, entry in found.items()
        }

    def _complete_ends(self, reached: Values) -> None:
        """If one of the entries ``done``, ``terminated`` and ``truncated`` is missing, add it by TorchRL's rules."""
        given = [key for key, _ in self._end_shapes if key in reached]
        says_truncated = "truncated" in reached
        for key, shape in self._end_shapes:
            if key in given and reached[key].shape != shape:
                reached[key] = reached[key].reshape(shape)
        if len(given) == len(self._end_shapes):
            return
        for key, shape in self._end_shapes:
            if key in reached:
                continue
            if key == "terminated" and "done" in reached:
                if says_truncated:
                    raise RuntimeError(
                        "the environment returns 'done' and 'truncated', but not 'terminated'; add 'terminated'"
                    )
                reached[key] = reached["done"]
            elif key == "done" and "terminated" in reached:
                terminated = reached["terminated"]
                reached[key] = terminated | reached["truncated"] if says_truncated else terminated
            else:
                reached[key] = torch.zeros(shape, dtype=torch.bool, device=self.env.device)

    def reset_ended(self, now: Values, reached: Values) -> tuple[Values, Tensor | None]:
        """Reset the environments whose episode has ended.

        Returns the entries at the start of the next step, and a mask ``[environments]`` of the environments that were
        reset. The mask is None if the environments reset themselves, or if the host has read that no episode ended.
        """
        both = {**now, **{key: tensor for key, tensor in reached.items() if key in self._of_next}}
        following = {key: both[key] for key in self.keys if key in both}
        if self._native:
            return self._after_own_reset(following, reached), None
        done = reached["done"]
        mask = _by_environment(done)
        if self._resets_on_host and not mask.any():
            return following, None
        begun = self._on_own_device(
            call_reset(self.env, self._tensordict({RESET_KEY: done.clone()}), **self._reset_options)
        )
        if any(key in begun for key in self._ends):
            self._complete_ends(begun)
        for key, tensor in following.items():
            new = begun.get(key)
            if new is None and key in self._ends:
                following[key] = tensor.masked_fill(_expand(mask, tensor), False)  # by TorchRL's rules
            elif new is None:
                following[key] = zeroed_by_partial_reset(tensor, mask)
            else:
                following[key] = torch.where(_expand(mask, tensor), new, tensor)
        return following, mask

    def _hide_lost_observations(self, reached: Values) -> None:
        """Replace the observation after an episode's last step by NaN or 0.

        Only environments that reset themselves need this. In place of the last observation, such an environment returns
        the first observation of the next episode.
        """
        self._shown = {key: reached[key] for key in self._observations if key in reached}
        done = self._any_end(reached)
        for key, seen in self._shown.items():
            blank = torch.nan if seen.is_floating_point() else 0
            reached[key] = seen.masked_fill(_expand(done, seen), blank)

    def _after_own_reset(self, following: Values, reached: Values) -> Values:
        following.update({key: seen.clone() for key, seen in self._shown.items()})
        ends = {key: reached[key] for key in self._ends}
        if self._has_native_hook:
            given = self._tensordict({**following, RESET_KEY: self._any_end(reached).view(-1, 1)})
            after = dict(call_reset_hook(self.env, given, given).items())
            following = {key: after[key] for key in following}
        for key, done in ends.items():
            if _INIT in following:
                following[_INIT] = done.clone()
            following[key] = torch.zeros_like(done)
        return following

    def _any_end(self, reached: Values) -> Tensor:
        return reduce(torch.logical_or, (_by_environment(reached[key]) for key in self._ends))

    def _tensordict(self, entries: Values) -> TensorDictBase:
        return tensordict_of(entries, self.env.batch_size, self.env.device)


def _kept(parts: Iterable[EnvBase | Transform]) -> dict[str, Any]:
    """Return the attributes and buffers of ``parts`` that are tensors or plain values, by class and name."""
    found: dict[str, Any] = {}
    for one in parts:
        attributes = {**vars(one), **vars(one).get("_buffers", {})}
        kept = {name: value for name, value in attributes.items() if isinstance(value, _KEPT)}
        found |= {f"{type(one).__name__}.{name}": value for name, value in kept.items()}
    return found


def zeroed_by_partial_reset(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return the value that an entry has in TorchRL's loop after a reset that does not write the entry.

    If only some environments were reset, the entry is zero in these environments. Otherwise the entry is unchanged.
    """
    return tensor.masked_fill(_expand(mask & ~mask.all(), tensor), 0)


def _expand(mask: Tensor, tensor: Tensor) -> Tensor:
    """Return ``mask`` ``[environments]`` with as many dimensions as ``tensor``."""
    return mask.view(-1, *[1] * (tensor.ndim - 1))


def _by_environment(end: Tensor) -> Tensor:
    """Return ``end`` ``[environments, 1]`` in the shape ``[environments]``."""
    return end.view(-1)


def _share_memory(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def version_of(tensor: Tensor) -> int:
    """Return torch's count of writes into the tensor. An inference tensor has no count, so the result is 0."""
    return 0 if tensor.is_inference() else tensor._version


def layers(env: EnvBase) -> Iterator[EnvBase]:
    """Yield the environment and all environments that it wraps, the outermost first."""
    yield env
    while isinstance(env, TransformedEnv):
        env = env.base_env
        yield env


def base_of(env: EnvBase) -> EnvBase:
    """Return the environment below all transforms."""
    return [*layers(env)][-1]


def transforms(env: EnvBase) -> Iterator[Transform]:
    """Yield all transforms of the environment."""
    for one in layers(env):
        found = one.transform.modules() if isinstance(one, TransformedEnv) else ()
        yield from (inner for inner in found if isinstance(inner, Transform) and type(inner) is not Compose)


def _first_without(parts: Iterable[EnvBase | Transform], promise: str, known: tuple[type, ...]) -> str | None:
    """Return a sentence about the first part whose attribute ``promise`` is missing or false.

    Return None if there is no such part. Parts of the types in ``known`` do not need the attribute.
    """
    names = (type(one).__name__ for one in parts if not getattr(one, promise, type(one) in known))
    return next((f"{name} does not declare {promise}" for name in names), None)


def _require_tensors(env: EnvBase) -> None:
    """Raise FastLoopUnsupported if TensorEnvironment cannot step ``env`` exactly as TorchRL's methods do."""
    require(len(env.batch_size) == 1, "the environment has no batch dimension, or several")
    require(env.batch_locked, "the environment takes batches of any size")
    for one in layers(env):
        name = type(one).__name__
        require(not isinstance(one, BatchedEnvBase), f"{name} contains other environments")
        require(
            type(one) is TransformedEnv or not isinstance(one, TransformedEnv),
            f"{name} is a subclass of TransformedEnv",
        )
        require(not compiles_step(one), "the environment's step is compiled")
        require(not one.run_type_checks, "the environment checks the types of its results")
        for method in STEPPING:
            own = type(one) is not TransformedEnv and not _is_torchrls(one, method)
            require(not own and method not in vars(one), f"{name}.{method} replaces TorchRL's method")
    for inner in transforms(env):
        require(not has_hooks_after_step(inner), f"{type(inner).__name__} changes entries after the step")
    base = base_of(env)
    require(hooks_after_step(base) is None, "the environment has a hook after its step")
    for method in PROCESSING:
        require(_is_torchrls(base, method), f"{type(base).__name__}.{method} replaces TorchRL's method")
    require(not has_dynamic_specs(env), "the environment's tensors change their shapes")
    require(list(env.action_keys) == ["action"], "the action is not a single entry named 'action'")
    require(
        set(env.done_keys) <= set(ENDS) and has_simple_ends(env), "the environment has done entries other than 'done'"
    )
    columns = {tuple(env.full_done_spec[key].shape) for key in env.done_keys}
    require(columns == {(*env.batch_size, 1)}, "a done entry has several columns, or none")
    step = step_rules(env)
    keys = [*step.observation_keys, *step.state_keys, *env.reward_keys]
    nested = [key for key in keys if not isinstance(key, str)]
    require(not nested, f"the entry {'.'.join(nested[0]) if nested else ''} is nested")


def _is_torchrls(env: EnvBase, method: str) -> bool:
    return next(kind for kind in type(env).__mro__ if method in vars(kind)) is EnvBase
