"""Rollouts on disk: memory-mapped TensorDicts and a manifest that lists the whole ones.

::

    /data/rollouts/
      manifest.json        {"format": "TensorDict", "fleet": ..., "run": ..., "frames": ..., "shards": [...]}
      shard-000000/        TensorDict.load_memmap(...) has shape [batches, *batch]
      shard-000001/

A shard is written under another name and renamed, and only then listed: what the manifest lists is complete, whenever
the driver was killed. A restarted driver of the same run goes on behind the last shard.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any, Final

import torch
from tensordict import TensorDictBase

from collectorfleet.codec.frames import MASK_KEY, VERSION_KEY
from collectorfleet.errors import UserCodeError
from collectorfleet.run.durable_files import UNFINISHED, rename_folder, write_json
from collectorfleet.run.position import Position

MANIFEST: Final = "manifest.json"
# Many small batches make one shard, so that a long run is not a million files; but nothing waits for long.
SHARD_BYTES: Final = 64 * 2**20
SHARD_SECONDS: Final = 10.0


class RolloutWriter:
    """Writes batches into ``path``, in the order in which they come. One thread."""

    def __init__(
        self,
        path: str,
        *,
        fleet: str,
        run_id: str,
        shard_bytes: int = SHARD_BYTES,
        shard_seconds: float = SHARD_SECONDS,
    ) -> None:
        """Raises UserCodeError where the folder cannot be written to or holds another run's rollouts."""
        self.folder = Path(path)
        self._shard_bytes = shard_bytes
        self._shard_seconds = shard_seconds
        self._waiting: list[TensorDictBase] = []
        self._waiting_bytes = 0
        self._waiting_since = 0.0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._manifest = manifest_of(
                self.folder, {"format": "TensorDict", "fleet": fleet, "run": run_id, "frames": 0, "shards": []}
            )
            self._remove_unlisted()
            self._write_manifest()
        except OSError as error:
            raise UserCodeError.of(f"spec.output.path {path}", error) from error

    @property
    def frames(self) -> int:
        """Frames in whole shards, those of an earlier driver of this run too."""
        return int(self._manifest["frames"])

    @property
    def position(self) -> Position:
        """Where a driver of this run goes on: behind the last whole shard."""
        shards = self._manifest["shards"]
        return Position(
            frames=self.frames,
            batches=sum(shard["shape"][0] for shard in shards),
            version=max((shard["weightsVersions"]["max"] for shard in shards), default=0),
        )

    @property
    def shards(self) -> int:
        """How many shards are listed."""
        return len(self._manifest["shards"])

    @property
    def done(self) -> str:
        """What there is, as a sentence."""
        return f"{self.frames} frames in {self.shards} shards are in {self.folder}"

    def write(self, batch: TensorDictBase) -> None:
        """Take a batch; blocks while a full shard goes to disk. Raises UserCodeError if the disk refuses it."""
        if self._waiting and batch.shape != self._waiting[0].shape:
            self.flush()
        if not self._waiting:
            self._waiting_since = time.monotonic()
        # A copy: the collector uses a batch's memory again once nobody holds it.
        self._waiting.append(batch.clone())
        self._waiting_bytes += batch.bytes()
        late = time.monotonic() - self._waiting_since >= self._shard_seconds
        if late or self._waiting_bytes >= self._shard_bytes:
            self.flush()

    def flush(self) -> None:
        """Put everything taken so far on disk and into the manifest. Raises UserCodeError if the disk refuses it."""
        if not self._waiting:
            return
        try:
            self._write_shard()
        except OSError as error:
            raise UserCodeError.of(f"spec.output.path {self.folder}", error) from error

    def _write_shard(self) -> None:
        shard: TensorDictBase = torch.stack(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        name = f"shard-{self.shards:06d}"
        unfinished = self.folder / (UNFINISHED + name)
        shard.memmap(str(unfinished), copy_existing=True)
        rename_folder(unfinished, self.folder / name)
        entry = _entry(name, shard)
        self._manifest["shards"].append(entry)
        self._manifest["frames"] += entry["frames"]
        self._write_manifest()

    def _remove_unlisted(self) -> None:
        """What an earlier driver of this run was writing when it was killed."""
        listed = {shard["name"] for shard in self._manifest["shards"]}
        for left in [*self.folder.glob(f"{UNFINISHED}*"), *self.folder.glob("shard-*")]:
            if left.is_file():
                left.unlink()
            elif left.name not in listed:
                shutil.rmtree(left)

    def _write_manifest(self) -> None:
        write_json(self.folder / MANIFEST, self._manifest)


def _entry(name: str, shard: TensorDictBase) -> dict[str, Any]:
    versions, mask = shard.get(VERSION_KEY), shard.get(MASK_KEY, None)
    # Padding has no version, and is nobody's frame.
    real = versions.flatten() if mask is None else versions[mask]
    return {
        "name": name,
        "shape": list(shard.shape),
        "frames": real.numel(),
        "weightsVersions": {"min": int(real.min()), "max": int(real.max())},
    }


def manifest_of(folder: Path, beginning: dict[str, Any]) -> dict[str, Any]:
    """What ``folder`` holds of the run and in the format of ``beginning``, which is the manifest of an empty one.

    Raises UserCodeError if it holds something else.
    """
    file = folder / MANIFEST
    if not file.exists():
        return beginning
    manifest: dict[str, Any] = json.loads(file.read_text())
    if any(manifest.get(key) != beginning[key] for key in ("run", "format")):
        raise UserCodeError(
            f"spec.output.path {folder}",
            f"it holds {manifest.get('frames')} frames of another run of fleet {manifest.get('fleet')}; "
            "use an empty folder, or remove that one",
        )
    return manifest
