"""Gymnasium environments below TorchRL's wrappers, called without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torchrl.data import Bounded, Categorical, OneHot, TensorSpec, Unbounded
from torchrl.envs import Compose, EnvBase, GymEnv, GymWrapper, SerialEnv, Transform, TransformedEnv

from collectorfleet.actor.rollout.exact import NotExact, require

_ENDS: Final = {"done", "terminated", "truncated"}


class Environments:
    """Gymnasium environments that are stepped one after the other.

    Args:
        key: of their one observation.
        read_action: from actions ``[environments, ...]`` to what each environment takes.
    """

    def __init__(self, envs: Sequence[Any], key: str, read_action: Callable[[Tensor], Sequence[Any]]) -> None:
        self.key = key
        self.shape: tuple[int, ...] = envs[0].observation_space.shape
        self.dtype: np.dtype = envs[0].observation_space.dtype
        self._envs = list(envs)
        self._steps = [env.step for env in envs]
        self._read_action = read_action

    def __len__(self) -> int:
        return len(self._envs)

    def step(
        self, actions: Tensor, observations: np.ndarray, rewards: np.ndarray
    ) -> tuple[Sequence[bool], Sequence[bool]]:
        """Step all; returns who terminated and who was truncated.

        Writes ``observations`` ``[environments, *shape]`` and ``rewards`` ``[environments, 1]``.
        """
        results = [step(action) for step, action in zip(self._steps, self._read_action(actions), strict=True)]
        terminated, truncated = [], []
        for row, (seen, reward, terminates, truncates, _) in enumerate(results):
            observations[row] = seen
            rewards[row] = reward
            terminated.append(terminates)
            truncated.append(truncates)
        return terminated, truncated

    def reset(self, which: Sequence[int], observations: np.ndarray) -> None:
        """Reset these, in the order that TorchRL has; writes their rows of ``observations``."""
        for index in which:
            observations[index], _ = self._envs[index].reset()


def find_environments(env: EnvBase) -> tuple[Environments, list[Transform]]:
    """What to call, and the transforms in front of it, the innermost first.

    Raises:
        NotExact: they are not Gymnasium's, or more than their results is read.
    """
    base, outer = _peeled(env)
    if type(base) is SerialEnv:
        require(base._single_task, "SerialEnv has environments of several kinds")
        require(base._use_buffers, "SerialEnv has no buffers")
        if base.is_closed:
            base.start()
        chains = [_peeled(one) for one in base._envs]
        inner = chains[0][1]
        # Those of one environment then speak for all: none of the transforms that are understood has a state outside
        # of the data, and they are compared where they have settings.
        for _, others in chains:
            require([_settings(one) for one in others] == [_settings(one) for one in inner], "transforms differ")
        wrappers = [one for one, _ in chains]
    else:
        wrappers, inner = [base], []
    for wrapper in wrappers:
        _require_plain(wrapper)
    first = wrappers[0]
    envs = [wrapper._env for wrapper in wrappers]
    (key,) = first.observation_spec.keys()
    return Environments(envs, key, _reader(first.full_action_spec, first.action_keys)), [*inner, *outer]


def _peeled(env: EnvBase) -> tuple[EnvBase, list[Transform]]:
    """The environment below all transforms, and those, the innermost first."""
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
        name: value for name, value in vars(transform).items() if isinstance(value, str | int | float | type(None))
    }
    state = transform.state_dict()
    require(
        all(isinstance(one, Tensor) for one in state.values()), f"{type(transform).__name__} keeps a state of its own"
    )
    tensors = {name: tensor.tolist() for name, tensor in state.items()}
    return type(transform), plain, tensors


def _require_plain(env: EnvBase) -> None:
    name = type(env).__name__
    require(type(env) in (GymEnv, GymWrapper), f"{name} is not a Gymnasium environment")
    require(not env._is_batched, "Gymnasium's vector environments step in processes or in buffers of their own")
    require(GymWrapper.get_library_name(env._env) == "gymnasium", "the environment is of the older gym")
    require(env.device in (None, torch.device("cpu")), f"the environment's results go to {env.device}")
    require(not env.info_dict_reader, "an info_dict_reader writes to the frames")
    require(env.wrapper_frame_skip == 1, f"the environment's action is repeated {env.wrapper_frame_skip} times")
    require(env._convert_actions_to_numpy, "actions reach the environment as tensors")
    require("_compiled_step_and_maybe_reset" not in env.__dict__, "the environment's step is compiled")
    require(not env._allow_done_after_reset, "episodes may be over when they begin")
    require(not env.run_type_checks, "the environment checks the types of its results")
    require(set(env.done_keys) == _ENDS, "the environment has other ends than done, terminated and truncated")
    require(env.reward_keys == ["reward"] and env.reward_spec.shape == (1,), "the reward is not one number")
    observations = dict(env.observation_spec.items(True, True))
    require(len(observations) == 1, f"there are {len(observations)} observations, and not one")
    ((key, spec),) = observations.items()
    require(isinstance(key, str), f"the observation {key} is nested")
    require(isinstance(spec, Bounded | Unbounded), f"the observation is encoded ({type(spec).__name__})")
    require(isinstance(env._env.observation_space.shape, tuple), "the observation has no shape")
    require(spec.shape == env._env.observation_space.shape, "the observation is reshaped")


def _reader(specs: TensorSpec, keys: Sequence[Any]) -> Callable[[Tensor], Sequence[Any]]:
    require(list(keys) == ["action"], "the action is not one entry named action")
    spec = specs["action"]
    if type(spec) is OneHot and not spec.use_register:
        return _indices_of_one_hot
    if type(spec) is Categorical and spec.shape == ():
        return Tensor.tolist
    if isinstance(spec, Bounded | Unbounded):
        return _arrays
    raise NotExact(f"actions are encoded ({type(spec).__name__})")


def _arrays(actions: Tensor) -> Sequence[Any]:
    return list(actions.numpy())


def _indices_of_one_hot(actions: Tensor) -> Sequence[Any]:
    indices: list[int] = actions.long().argmax(-1).tolist()
    return indices
