"""Save the replay buffer of a run in its checkpoints. The buffer's actor writes and loads dumps of the buffer.

The actor itself writes the dump, because a transfer through the driver would need three times the buffer's memory. So
actor and driver need the same folder, and the actor runs in the driver's pod.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import size_bytes
from collectorfleet.errors import CollectorFleetError, UserCodeError
from collectorfleet.run.dump_size import check_dumps
from collectorfleet.transport.ray.replay_buffer import loss_of, own_error

# A volume with less free space counts as full.
_LEAST_ROOM_BYTES: Final = 2**20


class KeptBuffer:
    """Dumps and loads ``buffer``, a ``ReplayBuffer(service_backend="ray")``. Each call blocks while the actor works."""

    def __init__(self, buffer: Any) -> None:
        self._buffer = buffer
        # The size of the newest dump. Dumps of a tensor storage all have the same size.
        self._size_bytes = 0
        self._checks_room = False

    def dump(self, folder: Path) -> bool:
        """Dump content, sampler and writer into ``folder``, which does not exist yet.

        If the buffer has no frames, makes no dump and returns False. Raises ReplayBufferLost. Raises UserCodeError if
        the dump fails, lacks disk space, or is not visible in this process.
        """
        try:
            if not len(self._buffer):
                return False  # TorchRL cannot dump a storage without a shape
            if not self._checks_room:
                # Only the actor knows the size of the first dump.
                check_dumps(self._buffer, _check_room_for)
                self._checks_room = True
            _check_room(folder.parent, self._size_bytes)
            self._buffer.dumps(folder)
        except Exception as error:
            # Ray's error of a UserCodeError is a UserCodeError, too, with Ray's text.
            cause = own_error(error)
            if isinstance(cause, CollectorFleetError):
                raise cause from None
            # The actor writes into mapped memory, so a full volume kills it. Report the full volume as the cause.
            _check_room(folder.parent, _LEAST_ROOM_BYTES)
            raise self._failure(f"cannot be written to {folder}", error) from error
        if not folder.is_dir():
            raise UserCodeError(
                "replayBuffer.checkpoint",
                f"the buffer's actor wrote the dump, but this process cannot read {folder}; run the actor in the "
                "driver's pod",
            )
        self._size_bytes = size_bytes(folder)
        return True

    def load(self, folder: Path) -> None:
        """Load a dump of :meth:`dump`. Raises ReplayBufferLost, or UserCodeError if the dump does not fit."""
        try:
            self._buffer.loads(folder)
        except Exception as error:
            raise self._failure(f"cannot be read from {folder}", error) from error
        self._size_bytes = size_bytes(folder)

    def _failure(self, what: str, error: Exception) -> CollectorFleetError:
        where = f"replayBuffer.checkpoint: the buffer {what} by its actor, which has to run in the driver's pod"
        return loss_of(self._buffer) or UserCodeError.of(where, own_error(error))


def _check_room_for(storage_folder: Path, needed_bytes: int) -> None:
    _check_room(storage_folder.parents[1], needed_bytes)


def _check_room(volume: Path, needed_bytes: int) -> None:
    free = shutil.disk_usage(volume).free
    if free < needed_bytes:
        raise UserCodeError(
            "replayBuffer.checkpoint",
            f"the volume of {volume} has {free} bytes left, and the dump of the buffer needs more than "
            f"{needed_bytes}; use a volume with room for three dumps, or a smaller buffer",
        )
