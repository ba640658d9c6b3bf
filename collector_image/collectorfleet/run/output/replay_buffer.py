"""Batches in a replay buffer of the user's, and the buffer on disk.

::

    /data/replay/
      manifest.json        {"format": "ReplayBuffer", "dump": "dump-000003", "frames": ..., "run": ...}
      dump-000003/         ReplayBuffer.loads(...) of a buffer that was built alike

A dump is written under another name and renamed, and only then named by the manifest; the one before is removed after
that. A restarted driver of the same run loads the dump and goes on behind it.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any, Final

from tensordict import TensorDictBase

from collectorfleet.codec.frames import MASK_KEY, VERSION_KEY
from collectorfleet.errors import UserCodeError
from collectorfleet.run.durable_files import UNFINISHED, rename_folder, write_json
from collectorfleet.run.output.rollouts import MANIFEST, manifest_of
from collectorfleet.run.position import Position

# A buffer is dumped as a whole, so not after every batch; what came since is lost with its driver, and said to be.
DUMP_SECONDS: Final = 60.0


class ReplayWriter:
    """Extends ``buffer`` with frames, ``[frames]``, and dumps it into ``path``. One thread."""

    def __init__(self, path: str, buffer: Any, *, fleet: str, run_id: str, dump_seconds: float = DUMP_SECONDS) -> None:
        """Raises UserCodeError where the folder cannot be used, holds another run's buffer, or its dump is not one of
        ``buffer``."""
        self.folder = Path(path)
        self.buffer = buffer
        self._dump_seconds = dump_seconds
        self._dumped_at = time.monotonic()
        self._new = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._manifest = manifest_of(
                self.folder,
                {
                    "format": "ReplayBuffer",
                    "fleet": fleet,
                    "run": run_id,
                    "dump": None,
                    "frames": 0,
                    "batches": 0,
                    "weightsVersion": 0,
                },
            )
            self._remove_unlisted()
            write_json(self.folder / MANIFEST, self._manifest)
        except OSError as error:
            raise UserCodeError.of(f"spec.output.path {path}", error) from error
        self._load()

    @property
    def frames(self) -> int:
        """Frames that were put into the buffer up to the dump, those of an earlier driver of this run too."""
        return int(self._manifest["frames"])

    @property
    def position(self) -> Position:
        """Where a driver of this run goes on: behind the dump."""
        return Position(self.frames, int(self._manifest["batches"]), int(self._manifest["weightsVersion"]))

    @property
    def done(self) -> str:
        """What there is, as a sentence."""
        return f"{self.frames} frames went into the replay buffer that is in {self.folder}"

    def write(self, batch: TensorDictBase) -> None:
        """Take a batch; blocks while the buffer goes to disk, now and then. Raises UserCodeError if either refuses."""
        mask = batch.get(MASK_KEY, None)
        frames = batch.reshape(-1) if mask is None else batch[mask]
        try:
            self.buffer.extend(frames.clone())
        except Exception as error:
            raise UserCodeError.of("output.replayBuffer", error) from error
        self._manifest["frames"] += frames.numel()
        self._manifest["batches"] += 1
        self._manifest["weightsVersion"] = max(self._manifest["weightsVersion"], int(frames[VERSION_KEY].max()))
        self._new = True
        if time.monotonic() - self._dumped_at >= self._dump_seconds:
            self.flush()

    def flush(self) -> None:
        """Put the buffer on disk and into the manifest. Raises UserCodeError if the disk or the buffer refuses it."""
        if not self._new:
            return
        before = self._manifest["dump"]
        name = f"dump-{int(before.removeprefix('dump-')) + 1 if before else 0:06d}"
        unfinished = self.folder / (UNFINISHED + name)
        try:
            self.buffer.dumps(unfinished)
            rename_folder(unfinished, self.folder / name)
            self._manifest["dump"] = name
            write_json(self.folder / MANIFEST, self._manifest)
            if before:
                shutil.rmtree(self.folder / before)
        except OSError as error:
            raise UserCodeError.of(f"spec.output.path {self.folder}", error) from error
        self._new = False
        self._dumped_at = time.monotonic()

    def _load(self) -> None:
        if not self._manifest["dump"]:
            return
        try:
            self.buffer.loads(self.folder / self._manifest["dump"])
        except Exception as error:
            raise UserCodeError.of(f"output.replayBuffer: the dump in {self.folder}", error) from error

    def _remove_unlisted(self) -> None:
        """What an earlier driver of this run was writing, or about to remove, when it was killed."""
        for left in [*self.folder.glob(f"{UNFINISHED}*"), *self.folder.glob("dump-*")]:
            if left.is_file():
                left.unlink()
            elif left.name != self._manifest["dump"]:
                shutil.rmtree(left)
