"""Call Gymnasium's vector environments directly, because TorchRL's wrapper undoes their automatic resets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from tensordict import TensorDict
from torch import Tensor
from torchrl.envs import GymWrapper, Transform
from torchrl.envs.libs.gym import terminal_obs_reader
from torchrl.envs.transforms import VecGymEnvTransform

from collectorfleet.actor.rollout.ends import Ends
from collectorfleet.actor.rollout.exact import require
from collectorfleet.torchrl_private.environments import gymnasium_of
from collectorfleet.torchrl_private.transforms import leave_reset


class VectorEnvironment:
    """A vector environment of Gymnasium. One call steps all of its environments.

    Args:
        undoing: TorchRL's transform that undoes the automatic resets of the environment. None: the environment does not
            reset itself.
        read_action: converts actions ``[environments, ...]`` to the input of the environment.
    """

    def __init__(
        self, env: Any, key: str, undoing: VecGymEnvTransform | None, read_action: Callable[[Tensor], Any]
    ) -> None:
        self.key = key
        self.shape: tuple[int, ...] = env.single_observation_space.shape
        self.dtype: np.dtype = env.single_observation_space.dtype
        self.resets_itself = undoing is not None
        self._env = env
        self._undoing = undoing
        self._read_action = read_action
        self._begun = np.zeros((len(self), *self.shape), self.dtype)
        self._one_each = (len(self),)

    def __len__(self) -> int:
        count: int = self._env.num_envs
        return count

    def step(self, actions: Tensor, observations: np.ndarray, rewards: np.ndarray) -> Ends | None:
        seen, reward, terminated, truncated, infos = self._env.step(self._read_action(actions))
        if seen.shape != observations.shape:
            raise wrong_shape(self.key, seen, observations.shape)
        if not (np.shape(reward) == np.shape(terminated) == np.shape(truncated) == self._one_each):
            if reward is None or (isinstance(reward, int) and reward == 0):
                reward = np.zeros(len(self))  # as TorchRL's wrapper reads such a reward
            reward, terminated, truncated = map(
                self._one_each_of, ("reward", "terminated", "truncated"), (reward, terminated, truncated)
            )
        observations[...] = seen
        rewards[:, 0] = reward
        if not (terminated.any() or truncated.any()):
            return None
        ends = Ends.of(terminated, truncated)
        if self.resets_itself:
            self._begun[...] = observations
            # In one autoreset mode, Gymnasium returns the last observation of an episode only with the next step. In
            # this mode, TorchRL's frames have zeros.
            last = infos.get("final_obs")
            for row in ends.which:
                observations[row] = 0 if last is None else self._fitting(last[row])
        return ends

    def reset(self, which: Sequence[int], observations: np.ndarray) -> None:
        everyone = len(which) == len(self)
        if not self.resets_itself:
            mask = np.zeros(len(self), bool)
            mask[which] = True
            begun, _ = self._env.reset(options={"reset_mask": mask})
        elif everyone:
            begun, _ = self._env.reset()
        else:
            begun = self._begun
        if begun.shape != observations.shape:
            raise wrong_shape(self.key, begun, observations.shape)
        observations[which] = begun[which]

    def store_state(self, ends: Ends | None) -> None:
        if self._undoing is None:
            return
        done = np.zeros(len(self), bool)
        if ends is not None:
            done[ends.which] = True
        begun = None if ends is None else TensorDict({self.key: torch.from_numpy(self._begun.copy())}, [len(self)])
        # TorchRL's transform reads this state if the collector resets some environments before the next rollout.
        leave_reset(self._undoing, torch.from_numpy(done).unsqueeze(-1), begun)

    def methods(self) -> list[Any]:
        return []

    def _one_each_of(self, name: str, values: Any) -> np.ndarray:
        """Return a result as an array with one value for each environment.

        Like TorchRL's wrapper, accept any shape with this number of values. Raise ValueError for another number,
        because numpy would repeat a single value.
        """
        found = np.asarray(values)
        if found.size != len(self):
            raise ValueError(
                f"{name} has shape {list(found.shape)}; return an array with one value for each of {len(self)} "
                "environments"
            )
        return found.reshape(self._one_each)

    def _fitting(self, seen: Any) -> Any:
        if np.shape(seen) != self.shape:
            raise wrong_shape(self.key, seen, self.shape)
        return seen


def wrong_shape(key: str, seen: Any, shape: tuple[int, ...]) -> ValueError:
    """Return the error for an observation of the wrong shape. Numpy would broadcast such an observation silently."""
    return ValueError(f"{key} has shape {list(np.shape(seen))}; its observation space has {list(shape)}")


def find_vector(
    env: GymWrapper, key: str, transforms: Sequence[Transform], read_action: Callable[[Tensor], Any]
) -> tuple[VectorEnvironment, list[Transform]]:
    """Return the environment to call, and its transforms without the transform that TorchRL adds.

    Raises:
        FastLoopUnsupported: the fast loop does not support the class of the vector environment, its readers or its
            transform.
    """
    vector = gymnasium_of(env)
    readers = [type(reader) for reader in env.info_dict_reader]
    if getattr(vector, "autoreset_mode", None) is AutoresetMode.DISABLED:
        # In this mode, every class of vector environment has the option ``reset_mask``, which selects the environments
        # to reset.
        require(not readers, "an info_dict_reader writes to the frames")
        return VectorEnvironment(vector, key, None, read_action), list(transforms)
    require(
        type(vector) in (SyncVectorEnv, AsyncVectorEnv),
        f"the fast loop does not know how {type(vector).__name__} resets",
    )
    require(readers == [terminal_obs_reader], "an info_dict_reader writes to the frames")
    own, *others = transforms
    require(type(own) is VecGymEnvTransform and not own.native_autoreset, "the environment's own transform is missing")
    return VectorEnvironment(vector, key, own, read_action), others
