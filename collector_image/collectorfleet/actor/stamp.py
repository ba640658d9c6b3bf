"""Write the weights version of each frame into an entry of the frame.

Two kinds of collectors need this entry, because their rollouts may have frames of several versions. In the first kind,
trajectories span rollouts. In the second kind, processes continue to step while weights arrive. The version is in
shared memory. Each process of a collector opens this memory by its name while the collector is built. So each of
multiprocessing's start methods works. The name is removed afterwards, so a killed collector leaves no memory behind.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import shared_memory
from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase, Transform, TransformedEnv

STAMP = "weights_version"
STAMP_KEY = ("next", STAMP)


class SharedVersion:
    """The loaded version, an int64 that the processes of a collector share. Only the name of the memory is pickled."""

    def __init__(self, memory: shared_memory.SharedMemory) -> None:
        self._memory = memory

    @classmethod
    def create(cls) -> SharedVersion:
        """Return version 0 in new shared memory."""
        made = cls(shared_memory.SharedMemory(create=True, size=8))
        made.set(0)
        return made

    @classmethod
    def open(cls, name: str) -> SharedVersion:
        """Return the version in the shared memory ``name``."""
        return cls(shared_memory.SharedMemory(name))

    def set(self, version: int) -> None:
        self._bytes()[:8] = version.to_bytes(8, "little")

    def get(self) -> int:
        return int.from_bytes(self._bytes()[:8], "little")

    def remove_name(self) -> None:
        """Let the kernel free the memory when the last process that has opened the memory ends."""
        self._memory.unlink()

    def _bytes(self) -> memoryview:
        buffer = self._memory.buf
        if buffer is None:
            raise RuntimeError(f"shared memory {self._memory.name} is closed")
        return buffer

    def __reduce__(self) -> tuple[Callable[[str], SharedVersion], tuple[str]]:
        return SharedVersion.open, (self._memory.name,)


class VersionStamp(Transform):
    """A transform that writes the weights version of each step to ``("next", "weights_version")``.

    Args:
        shared: the loaded version.
        any_time: whether weights may arrive while the policy computes an action. In this case the transform reads the
            version before and after the action, and writes the older version.
    """

    def __init__(self, shared: SharedVersion, *, any_time: bool) -> None:
        super().__init__()
        self._shared = shared
        self._any_time = any_time
        self._before: int | None = None
        self._written = 0  # the version of the last step

    def _step(self, tensordict: TensorDictBase, next_tensordict: TensorDictBase) -> TensorDictBase:  # noqa: ARG002 (TorchRL's signature)
        now = self._shared.get()
        version = min(self._before, now) if self._any_time and self._before is not None else now
        _write(version, next_tensordict)
        self._before, self._written = now, version
        return next_tensordict

    def _post_step_mdp_hooks(
        self, tensordict: TensorDictBase, tensordict_: TensorDictBase
    ) -> tuple[TensorDictBase, TensorDictBase]:
        # If an environment resets itself, TorchRL has set the observations of ended episodes to zero, and the stamp is
        # one of these observations.
        _write(self._written, tensordict.get("next"))
        return tensordict, tensordict_

    def _reset(self, tensordict: TensorDictBase, tensordict_reset: TensorDictBase) -> TensorDictBase:  # noqa: ARG002 (TorchRL's signature)
        _write(0, tensordict_reset)
        return tensordict_reset

    def transform_observation_spec(self, observation_spec: Composite) -> Composite:
        shape = observation_spec.shape
        observation_spec[STAMP] = Unbounded(shape=shape, dtype=torch.int64, device=observation_spec.device)
        return observation_spec


def _write(version: int, tensordict: TensorDictBase) -> None:
    tensordict.set(STAMP, torch.full(tensordict.batch_size, version, dtype=torch.int64))


def stamped(env: EnvBase | Callable[[], EnvBase], shared: SharedVersion, *, any_time: bool) -> Any:
    """Return the environment with an added transform that writes the version into every frame."""
    made = env if isinstance(env, EnvBase) else env()
    return TransformedEnv(made, VersionStamp(shared, any_time=any_time))
