"""Save the replay buffer of a run in its checkpoints. The buffer's actor writes and loads dumps of the buffer.

The actor itself writes the dump, because a transfer through the driver would need three times the buffer's memory. So
actor and driver need the same folder, and the actor runs in the driver's pod.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import size_bytes, volume_error
from collectorfleet.errors import CollectorFleetError, UserCodeError
from collectorfleet.run.dump_size import check_dumps, check_room
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

        If the buffer has no frames, makes no dump and returns False. Raises ReplayBufferLost. Raises OSError if the
        volume is full, fails or is read-only. Raises UserCodeError if the dump fails otherwise, or is not visible in
        this process.
        """
        try:
            if not len(self._buffer):
                return False  # TorchRL cannot dump a storage without a shape
            if not self._checks_room:
                # Only the actor knows the size of the first dump.
                check_dumps(self._buffer, _check_room_for)
                self._checks_room = True
            check_room(folder.parent, self._size_bytes)
            self._buffer.dumps(folder)
        except Exception as error:
            # Ray's error of an OSError is an OSError, too, with Ray's text.
            failing = volume_error(own_error(error))
            # In another pod, the actor may have no volume at this path, but a read-only image.
            if failing is not None and not (failing.errno == errno.EROFS and _can_make(folder)):
                raise failing from None
            # The actor writes into mapped memory, so a full volume kills it. Report the full volume as the cause.
            check_room(folder.parent, _LEAST_ROOM_BYTES)
            raise self._failure(f"cannot write to {folder}", error) from error
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
            raise self._failure(f"cannot read {folder}", error) from error
        self._size_bytes = size_bytes(folder)

    def _failure(self, what: str, error: Exception) -> CollectorFleetError:
        where = f"replayBuffer.checkpoint: the buffer's actor, which has to run in the driver's pod, {what}"
        return loss_of(self._buffer) or UserCodeError.of(where, own_error(error))


def _can_make(folder: Path) -> bool:
    """Return whether this process can make the folder, or the folder exists."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return False
    return True


def _check_room_for(storage_folder: Path, needed_bytes: int) -> None:
    check_room(storage_folder.parents[1], needed_bytes)
