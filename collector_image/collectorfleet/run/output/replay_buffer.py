"""Write batches to a replay buffer of the user, and dump the buffer to disk.

::

    /data/replay/
      manifest.json        {"format": "ReplayBuffer", "dump": "dump-000003", "frames": ..., "run": ...}
      dump-000003/         for ReplayBuffer.loads(...) of a buffer that is built in the same way

The folder contains only the newest dump. The previous dump is removed once the manifest names the new dump.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from tensordict import TensorDictBase

from collectorfleet.codec.frames import MASK_KEY, VERSION_KEY
from collectorfleet.durable_files import size_bytes, volume_error
from collectorfleet.errors import UserCodeError
from collectorfleet.run.dump_size import check_dumps, check_room
from collectorfleet.run.output.entries import name_problem
from collectorfleet.run.output.folder import OutputFolder
from collectorfleet.run.position import Position
from collectorfleet_api.counts import counted

# A dump contains the whole buffer, so it is not made after each batch. A lost driver loses the frames since the last
# dump, and the status counts them as lost.
DUMP_SECONDS: Final = 60.0
_PART: Final = "dump"


class ReplayWriter:
    """An :class:`~collectorfleet.run.output.interface.OutputWriter` that adds the frames of each batch to ``buffer``.

    The batches become TensorDicts of shape ``[frames]``. The writer dumps the buffer into ``path``.
    """

    def __init__(self, path: str, buffer: Any, *, fleet: str, run_id: str, dump_seconds: float = DUMP_SECONDS) -> None:
        """Load the last dump into ``buffer``, if there is one.

        Raises UserCodeError if the folder cannot be used or has output of another run, or if its dump does not fit
        ``buffer``.
        """
        self.buffer = buffer
        self._dump_seconds = dump_seconds
        self._dumped_at = time.monotonic()
        self._new = False
        self._folder = OutputFolder(path, _PART, _empty_manifest(fleet, run_id), _problem_in)
        self._manifest = self._folder.manifest
        with self._folder.writing():
            self._folder.remove_unlisted({self._manifest["dump"]})
            self._folder.save_manifest()
        self._load()
        # Only the buffer knows the size of the first dump.
        with _raising_as_user_code():
            check_dumps(buffer, check_room)

    @property
    def frames(self) -> int:
        """The number of frames written to the buffer, including frames of earlier drivers of this run."""
        return int(self._manifest["frames"])

    @property
    def position(self) -> Position:
        """The position where the next driver of this run continues: after the frames in the dump."""
        return Position(self.frames, int(self._manifest["batches"]), int(self._manifest["weightsVersion"]))

    @property
    def summary(self) -> str:
        """The written output, as a sentence."""
        return f"{counted(self.frames, 'frame')} went into the replay buffer in {self._folder.path}"

    def write(self, batch: TensorDictBase) -> None:
        """Extend the buffer with a batch. Every ``dump_seconds``, the call also blocks for a dump.

        Raises UserCodeError if the buffer raises or the folder cannot be written to, and InfrastructureError if the
        volume is full or fails.
        """
        mask = batch.get(MASK_KEY, None)
        frames = batch.reshape(-1) if mask is None else batch[mask]
        try:
            for part in frames.clone().split(self._places(len(frames))):
                self.buffer.extend(part)
        except Exception as error:
            raise UserCodeError.of("output.replayBuffer", error) from error
        self._manifest["frames"] += frames.numel()
        self._manifest["batches"] += 1
        self._manifest["weightsVersion"] = max(self._manifest["weightsVersion"], int(frames[VERSION_KEY].max()))
        self._new = True
        if time.monotonic() - self._dumped_at >= self._dump_seconds:
            self.flush()

    def flush(self) -> None:
        """Dump the buffer to disk, and name the dump in the manifest. Raises as :meth:`write` does."""
        if self._new:
            with self._folder.writing():
                self._dump()
            self._new = False
            self._dumped_at = time.monotonic()

    def _places(self, frames: int) -> int:
        """Return how many of the ``frames`` one write may have.

        TorchRL would write more frames than the storage has places at once. Two frames with the same place then mix.
        """
        storage = getattr(self.buffer, "storage", None)
        return min(frames, getattr(storage, "max_size", frames))

    def _dump(self) -> None:
        before = self._manifest["dump"]
        name = self._folder.name_after(before)
        with self._folder.new_part(name) as unfinished:
            if before:
                check_room(self._folder.path, size_bytes(self._folder.path / before))
            with _raising_as_user_code():
                self.buffer.dumps(unfinished)
        self._manifest["dump"] = name
        self._folder.save_manifest()
        if before:
            self._folder.remove_part(before)

    def _load(self) -> None:
        if self._manifest["dump"] is None:
            return
        try:
            self.buffer.loads(self._folder.path / self._manifest["dump"])
        except Exception as error:
            raise UserCodeError.of(f"output.replayBuffer: the dump in {self._folder.path}", error) from error


@contextmanager
def _raising_as_user_code() -> Iterator[None]:
    """Turn errors of the user's buffer into UserCodeError. Raise errors of the disk unchanged."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) or volume_error(error) is not None:
            raise
        raise UserCodeError.of("output.replayBuffer", error) from error


def _empty_manifest(fleet: str, run_id: str) -> dict[str, Any]:
    return {
        "format": "ReplayBuffer",
        "fleet": fleet,
        "run": run_id,
        "dump": None,
        "frames": 0,
        "batches": 0,
        "weightsVersion": 0,
    }


def _problem_in(manifest: Mapping[str, Any]) -> str | None:
    """Return the problem with the name of a manifest's dump, or None if the name is correct."""
    dump = manifest["dump"]
    return None if dump is None else name_problem(dump, _PART, where="dump")
