"""Call Gymnasium environments directly, without TorchRL's wrappers around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor
from torchrl.data import Bounded, Categorical, OneHot, Unbounded
from torchrl.envs import Compose, EnvBase, GymEnv, GymWrapper, SerialEnv, Transform, TransformedEnv

from collectorfleet.actor.rollout.ends import Ends
from collectorfleet.actor.rollout.exact import FastLoopUnsupported, require
from collectorfleet.actor.rollout.vectors import find_vector, wrong_shape
from collectorfleet.torchrl_private.environments import (
    allows_done_after_reset,
    are_alike,
    compiles_step,
    environments_of,
    gymnasium_of,
    is_vector,
    shares_buffers,
    takes_arrays,
)

_ENDS: Final = {"done", "terminated", "truncated"}
_ARRAY: Final = np.ndarray
_NUMBERS: Final = (float, int, np.number)


class Stepped(Protocol):
    """A group of equal environments that the fast loop steps.

    Each environment has one observation, with the key ``key``, the shape ``shape`` and the dtype ``dtype``. If
    ``resets_itself`` is true, an environment resets itself whenever its episode has ended, and at no other time.
    """

    key: str
    shape: tuple[int, ...]
    dtype: np.dtype
    resets_itself: bool

    def __len__(self) -> int: ...

    def step(self, actions: Tensor, observations: np.ndarray, rewards: np.ndarray) -> Ends | None:
        """Step all environments. Return the ended episodes, or return None if no episode ended.

        Writes ``observations`` ``[environments, *shape]`` and ``rewards`` ``[environments, 1]``.
        """

    def reset(self, which: Sequence[int], observations: np.ndarray) -> None:
        """Reset the environments ``which`` in the order of TorchRL's loop. Write their rows of ``observations``."""

    def store_state(self, ends: Ends | None) -> None:
        """Store the state that TorchRL needs for the environments' next step.

        ``ends`` has the episodes that ended in the last step. None: no episode ended.
        """

    def methods(self) -> list[Any]:
        """Return the present ``step`` method of each environment.

        The caller compares these methods with the methods that the loop uses.
        """


class Environments:
    """Gymnasium environments that are stepped one after another.

    Args:
        read_action: converts actions ``[environments, ...]`` to the input of each environment.
    """

    resets_itself = False

    def __init__(self, envs: Sequence[Any], key: str, read_action: Callable[[Tensor], Sequence[Any]]) -> None:
        self.key = key
        self.shape: tuple[int, ...] = envs[0].observation_space.shape
        self.dtype: np.dtype = envs[0].observation_space.dtype
        self._envs = list(envs)
        self._steps = [env.step for env in envs]
        self._read_action = read_action

    def __len__(self) -> int:
        return len(self._envs)

    def step(self, actions: Tensor, observations: np.ndarray, rewards: np.ndarray) -> Ends | None:
        ends: Ends | None = None
        paid, shape = rewards[:, 0], self.shape
        for row, (step, action) in enumerate(zip(self._steps, self._read_action(actions), strict=True)):
            seen, reward, terminated, truncated, _ = step(action)
            if (seen.__class__ is not _ARRAY or seen.shape != shape) and not self._fills(seen):
                raise wrong_shape(self.key, seen, shape)
            observations[row] = seen
            paid[row] = reward if isinstance(reward, _NUMBERS) else _number(reward)
            if terminated or truncated:
                ends = ends or Ends()
                ends.add(row, bool(terminated), bool(truncated))
        return ends

    def reset(self, which: Sequence[int], observations: np.ndarray) -> None:
        for index in which:
            seen, _ = self._envs[index].reset()
            if not self._fills(seen):
                raise wrong_shape(self.key, seen, self.shape)
            observations[index] = seen

    def store_state(self, ends: Ends | None) -> None:
        """Do nothing, because TorchRL stores no state of these environments between steps."""

    def methods(self) -> list[Any]:
        return [env.step for env in self._envs]

    def _fills(self, seen: Any) -> bool:
        """Return whether an observation has as many numbers as its space. An array must also have the same shape."""
        shape = np.shape(seen)
        return shape == self.shape or (not isinstance(seen, np.ndarray) and math.prod(shape) == math.prod(self.shape))


def find_environments(env: EnvBase) -> tuple[Stepped, list[Transform]]:
    """Return the environments to call and the transforms around them, the innermost first.

    Raises:
        FastLoopUnsupported: the environments are not Gymnasium's, or TorchRL's wrapper does more than pass on their
            results.
    """
    base, outer = _unwrap(env)
    if isinstance(base, GymWrapper) and is_vector(base):
        key = _only_observation(base)
        return find_vector(base, key, outer, _reader(base, Tensor.numpy))
    if type(base) is SerialEnv:
        require(are_alike(base), "SerialEnv has environments of several kinds")
        require(shares_buffers(base), "SerialEnv has no buffers")
        if base.is_closed:
            base.start()
        chains = [_unwrap(one) for one in environments_of(base)]
        inner = chains[0][1]
        # The loop uses the first environment's transforms for all environments. This works because supported transforms
        # keep no state outside the data. All environments must have equal transforms, so the settings are compared.
        for _, others in chains:
            require(
                [_settings(one) for one in others] == [_settings(one) for one in inner],
                "the environments have different transforms",
            )
        wrappers = [one for one, _ in chains]
    else:
        wrappers, inner = [base], []
    for wrapper in wrappers:
        key = _only_observation(wrapper)
        require(not is_vector(wrapper), "SerialEnv has vector environments")
        require(not wrapper.info_dict_reader, "an info_dict_reader writes to the frames")
    envs = [gymnasium_of(wrapper) for wrapper in wrappers]
    return Environments(envs, key, _reader(wrappers[0], Tensor.tolist)), [*inner, *outer]


def _unwrap(env: EnvBase) -> tuple[EnvBase, list[Transform]]:
    """Return the environment below all transforms, and a list of the transforms, the innermost first."""
    found: list[Transform] = []
    while type(env) is TransformedEnv:
        found = [*_flat(env.transform), *found]
        env = env.base_env
    return env, found


def _flat(transform: Transform) -> list[Transform]:
    if type(transform) is Compose:
        return [one for inner in transform.transforms for one in _flat(inner)]
    return [transform]


def _settings(transform: Transform) -> tuple[Any, ...]:
    plain = {
        name: value
        for name, value in vars(transform).items()
        if isinstance(value, str | int | float | torch.dtype | type(None))
    }
    state = transform.state_dict()
    require(all(isinstance(one, Tensor) for one in state.values()), f"{type(transform).__name__} has a separate state")
    tensors = {name: tensor.tolist() for name, tensor in state.items()}
    return type(transform), plain, tensors


def _only_observation(env: EnvBase) -> str:
    """Return the key of the environment's only observation.

    Raise FastLoopUnsupported if TorchRL's wrapper does more than pass on the results of Gymnasium's environment.
    """
    name = type(env).__name__
    require(type(env) in (GymEnv, GymWrapper), f"{name} is not a Gymnasium environment")
    require(GymWrapper.get_library_name(gymnasium_of(env)) == "gymnasium", "the environment uses the older library gym")
    require(env.device in (None, torch.device("cpu")), f"the environment moves its results to {env.device}")
    require(env.wrapper_frame_skip == 1, f"the environment's action is repeated {env.wrapper_frame_skip} times")
    require(takes_arrays(env), "actions reach the environment as tensors")
    require(not compiles_step(env), "the environment's step is compiled")
    require(not allows_done_after_reset(env), "an episode may be done right after its reset")
    require(not env.run_type_checks, "the environment checks the types of its results")
    require(
        set(env.done_keys) == _ENDS, "the environment has done entries other than 'done', 'terminated' and 'truncated'"
    )
    require(env.reward_keys == ["reward"] and env.reward_spec.shape[-1:] == (1,), "the reward is not one number")
    # A vector environment that resets itself adds an entry ``final`` with the last observation. A transform of TorchRL
    # removes this entry, so it does not count.
    observations = {key: spec for key, spec in env.observation_spec.items(True, True) if key[0] != "final"}
    require(len(observations) == 1, f"there are {len(observations)} observations instead of one")
    ((key, spec),) = observations.items()
    require(isinstance(key, str), f"the observation {key} is nested")
    require(isinstance(spec, Bounded | Unbounded), f"the observation is encoded ({type(spec).__name__})")
    shape = gymnasium_of(env).observation_space.shape
    require(isinstance(shape, tuple), "the observation has no shape")
    require(spec.shape == shape, "the observation is reshaped")
    return str(key)


def _reader(env: EnvBase, listed: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """Return a function that converts actions ``[environments, ...]`` to the inputs of the environments.

    ``listed`` is the function that converts actions that are plain integers.
    """
    require(list(env.action_keys) == ["action"], "the action is not a single entry named 'action'")
    spec = env.full_action_spec["action"]
    if type(spec) is OneHot and not spec.use_register:
        choices = spec.shape[len(env.batch_size) : -1]
        require(is_vector(env) or not choices or choices.numel() > 1, "the action is an array with one element")
        read = Tensor.numpy if choices else listed
        return lambda actions: read(actions.long().argmax(-1))
    if type(spec) is Categorical and spec.shape == env.batch_size:
        return listed
    if isinstance(spec, Bounded | Unbounded):
        return Tensor.numpy
    raise FastLoopUnsupported(f"actions are encoded ({type(spec).__name__})")


def _number(reward: Any) -> Any:
    """Convert a reward as TorchRL does: None to 0.0, and an array of one number to the number."""
    return 0.0 if reward is None else np.asarray(reward).item()
