"""A run's replay buffer in its checkpoints: its actor dumps it into a folder, and reads it back from there.

The actor writes itself, because through the driver a buffer would be in memory three times. So both have to see the
same folder: the actor runs in the driver's pod.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import size_bytes
from collectorfleet.errors import CollectorFleetError, UserCodeError
from collectorfleet.transport.ray.replay_buffer import loss_of, own_error

# With less left a volume counts as full.
_LEAST_ROOM_BYTES: Final = 2**20


class KeptBuffer:
    """``buffer`` is a ``ReplayBuffer(service_backend="ray")``. Each call blocks while its actor works."""

    def __init__(self, buffer: Any) -> None:
        self._buffer = buffer
        self._size_bytes = 0  # of the newest dump; that of a storage of tensors never changes

    def dump(self, folder: Path) -> bool:
        """Put content, sampler and writer into ``folder``, which is not there yet; False for a buffer without frames.

        Raises ReplayBufferLost, or UserCodeError where the buffer cannot be dumped, or not there.
        """
        try:
            if not len(self._buffer):
                return False  # its storage has no shape yet, and TorchRL dumps none
            self._check_room(folder.parent, self._size_bytes)
            self._buffer.dumps(folder)
        except CollectorFleetError:
            raise
        except Exception as error:
            # The actor writes into mapped memory, and dies of it where a volume is full.
            self._check_room(folder.parent, _LEAST_ROOM_BYTES)
            raise self._failure(f"cannot be written to {folder}", error) from error
        if not folder.is_dir():
            raise UserCodeError(
                "replayBuffer.checkpoint",
                f"its actor wrote {folder} where this process does not see it; keep the actor in the driver's pod",
            )
        self._size_bytes = size_bytes(folder)
        return True

    def load(self, folder: Path) -> None:
        """Read back what :meth:`dump` left there. Raises ReplayBufferLost, or UserCodeError where it does not fit."""
        try:
            self._buffer.loads(folder)
        except Exception as error:
            raise self._failure(f"cannot be read from {folder}", error) from error
        self._size_bytes = size_bytes(folder)

    def _check_room(self, volume: Path, needed_bytes: int) -> None:
        free = shutil.disk_usage(volume).free
        if free < needed_bytes:
            raise UserCodeError(
                "replayBuffer.checkpoint",
                f"the volume of {volume} has {free} bytes left, and the dump of the buffer needs more than "
                f"{needed_bytes}; use one with room for three dumps, or a smaller buffer",
            )

    def _failure(self, what: str, error: Exception) -> CollectorFleetError:
        where = f"replayBuffer.checkpoint: the buffer {what} by its actor, which has to run in the driver's pod"
        return loss_of(self._buffer) or UserCodeError.of(where, own_error(error))
