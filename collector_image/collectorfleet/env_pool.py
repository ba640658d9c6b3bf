"""Adapt EnvPool's environments to Gymnasium's vector API, which TorchRL and the fast rollout loop use."""

from __future__ import annotations

import random
from typing import Annotated, Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption
from collectorfleet.option_ranges import NotEmpty, Positive


class EnvPool(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Environments of EnvPool_, for TorchRL's ``GymWrapper``. EnvPool steps them in its own threads.

    Args:
        task_id: EnvPool's name of the environment, such as ``"CartPole-v1"`` or ``"Pong-v5"``.
        num_envs: number of environments that step together.
        options: further arguments of ``envpool.make_gymnasium``, such as ``num_threads``.

    Observations are ``[num_envs, *shape]``. After the end of an episode, the environment waits for a reset. So the last
    frame of an episode has the episode's last observation. EnvPool itself would use the next step to reset the
    environment, and ignore the action of this step. EnvPool accepts a seed only for new environments. So
    ``reset(seed=)`` creates the environments again. Without a seed, Python's ``random`` draws the seed. In a fleet,
    each collector draws a different seed.

    Raises:
        ModuleNotFoundError: EnvPool is not installed.
        InvalidOption: ``batch_size`` differs from ``num_envs``, so that one step would advance only some of the
            environments.

    .. _EnvPool: https://envpool.readthedocs.io
    """

    @option_types.checked("EnvPool.")
    def __init__(self, task_id: Annotated[str, NotEmpty("Pong-v5")], num_envs: Positive, **options: Any) -> None:
        if options.get("batch_size", num_envs) != num_envs:
            some = options["batch_size"]
            raise InvalidOption(
                f"EnvPool {task_id}: with batch_size={some}, each step advances only {some} of {num_envs} "
                f"environments; remove batch_size, and set num_envs to {some}"
            )
        self.metadata = {"autoreset_mode": AutoresetMode.DISABLED}
        # TorchRL reads the mode from this attribute.
        self.autoreset_mode = AutoresetMode.DISABLED
        self._task_id = task_id
        self._options = {**options, "num_envs": num_envs}
        if not {"seed", "env_seed"} & options.keys():
            # EnvPool's default seed is the same number in each process, so all collectors would have equal episodes.
            self._options["seed"] = random.getrandbits(31)
        self._pool = self._make(self._options)
        self.num_envs = num_envs
        self.single_observation_space = self._pool.observation_space
        self.single_action_space = self._pool.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seen: np.ndarray = np.zeros(self.observation_space.shape or (), self.observation_space.dtype)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all environments with ``actions`` ``[num_envs, ...]``. Return the values of Gymnasium's ``step``."""
        self._seen, rewards, terminated, truncated, infos = self._pool.step(np.asarray(actions))
        return self._seen, rewards, terminated, truncated, infos

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset the environments selected by ``options["reset_mask"]``, bool ``[num_envs]``. Without a mask, reset all.

        Return the observations of all environments.
        """
        mask = (options or {}).get("reset_mask")
        if seed is not None:
            self._pool.close()
            self._pool = self._make({**self._options, "seed": seed})
        if seed is not None or mask is None or mask.all():
            self._seen, infos = self._pool.reset()
            return self._seen, infos
        which = np.flatnonzero(mask)
        seen = self._seen.copy()
        seen[which], _ = self._pool.reset(which)
        self._seen = seen
        # EnvPool's infos have rows only for the reset environments. Gymnasium expects a row for each environment.
        return seen, {}

    def close_extras(self, **_: Any) -> None:
        self._pool.close()

    def _make(self, options: dict[str, Any]) -> Any:
        try:
            from envpool import make_gymnasium
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                (
                    f"environment {self._task_id} needs EnvPool, which is not installed: {error}; add envpool to "
                    "the image"
                ),
                name=error.name,
            ) from error
        return make_gymnasium(self._task_id, **options)
