"""Write rollouts to disk as memory-mapped TensorDicts, with many batches in each shard.

::

    /data/rollouts/
      manifest.json        {"format": "TensorDict", "fleet": ..., "run": ..., "frames": ..., "shards": [...]}
      shard-000000/        TensorDict.load_memmap(...) has shape [batches, *batch]
      shard-000001/
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import torch
from tensordict import LazyStackedTensorDict, TensorDictBase, is_non_tensor, is_tensor_collection
from torch import Tensor

from collectorfleet.codec.frames import MASK_KEY, VERSION_KEY
from collectorfleet.durable_files import reserve
from collectorfleet.run.output.entries import counter_problem, name_problem, shape_problem, shown
from collectorfleet.run.output.folder import OutputFolder
from collectorfleet.run.position import Position
from collectorfleet_api.counts import counted

# A shard has many small batches, to limit the number of files. A shard is written once it has this size or age.
SHARD_BYTES: Final = 64 * 2**20
SHARD_SECONDS: Final = 10.0
_PART: Final = "shard"


class RolloutWriter:
    """An :class:`~collectorfleet.run.output.interface.OutputWriter` that writes batches into ``path``."""

    def __init__(
        self,
        path: str,
        *,
        fleet: str,
        run_id: str,
        shard_bytes: int = SHARD_BYTES,
        shard_seconds: float = SHARD_SECONDS,
    ) -> None:
        """Make the folder, or continue the output in it.

        Raises UserCodeError if the folder cannot be written to, or has rollouts of another run.
        """
        self._shard_bytes = shard_bytes
        self._shard_seconds = shard_seconds
        self._waiting: list[TensorDictBase] = []
        self._waiting_bytes = 0
        self._waiting_since = 0.0
        empty = {"format": "TensorDict", "fleet": fleet, "run": run_id, "frames": 0, "shards": []}
        self._folder = OutputFolder(path, _PART, empty, _problem_in)
        self._manifest = self._folder.manifest
        with self._folder.writing():
            self._folder.remove_unlisted({shard["name"] for shard in self._manifest["shards"]})
            self._folder.save_manifest()

    @property
    def frames(self) -> int:
        """Frames in complete shards, including shards of earlier drivers of this run."""
        return int(self._manifest["frames"])

    @property
    def position(self) -> Position:
        """Where the next driver of this run continues: after the last complete shard."""
        shards = self._manifest["shards"]
        return Position(
            frames=self.frames,
            batches=sum(shard["shape"][0] for shard in shards),
            version=max((shard["weightsVersions"]["max"] for shard in shards), default=0),
        )

    @property
    def shards(self) -> int:
        """Number of shards that the manifest lists."""
        return len(self._manifest["shards"])

    @property
    def summary(self) -> str:
        """The written shards and frames, as a sentence."""
        are = "is" if self.frames == 1 else "are"
        return f"{counted(self.frames, 'frame')} in {counted(self.shards, 'shard')} {are} in {self._folder.path}"

    def write(self, batch: TensorDictBase) -> None:
        """Accept a batch. Blocks while a full shard is written. Raises CollectorFleetError if the write fails."""
        # torch would stack different dtypes into a common dtype, which changes large integers.
        if self._waiting and _structure(batch) != _structure(self._waiting[0]):
            self.flush()
        if not self._waiting:
            self._waiting_since = time.monotonic()
        # Clone, because the collector reuses the memory of a batch that nobody refers to.
        self._waiting.append(batch.clone())
        self._waiting_bytes += _size_bytes(batch)
        late = time.monotonic() - self._waiting_since >= self._shard_seconds
        if late or self._waiting_bytes >= self._shard_bytes:
            self.flush()

    def flush(self) -> None:
        """Write all batches accepted so far to disk, and list their shards in the manifest.

        Raises UserCodeError if the folder cannot be written to, and InfrastructureError if the volume is full or fails.
        """
        if self._waiting:
            with self._folder.writing():
                self._write_shard()

    def _write_shard(self) -> None:
        shard: TensorDictBase = torch.stack(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        shards = self._manifest["shards"]
        name = self._folder.name_after(shards[-1]["name"] if shards else None)
        with self._folder.new_part(name) as unfinished:
            mapped = shard.memmap_like(str(unfinished))
            reserve(unfinished)
            mapped.update_(shard)
        entry = _entry(name, shard)
        self._manifest["shards"].append(entry)
        self._manifest["frames"] += entry["frames"]
        self._folder.save_manifest()


def _structure(value: Any) -> Any:
    """Return what all batches in a shard have in common: their keys, shapes and dtypes."""
    if isinstance(value, Tensor):
        return value.dtype, value.layout, None if value.is_nested else value.shape
    if not is_tensor_collection(value) or is_non_tensor(value):
        return None
    if isinstance(value, LazyStackedTensorDict):
        return value.batch_size, value.stack_dim, [_structure(one) for one in value.tensordicts]
    return value.batch_size, {key: _structure(one) for key, one in value.items()}


def _size_bytes(value: Any) -> int:
    """Return the size of all tensors in a batch or an entry.

    TensorDict's ``bytes()`` keeps the tensors in memory until a garbage collection.
    """
    if is_non_tensor(value):
        return 0
    if isinstance(value, LazyStackedTensorDict):
        return sum(map(_size_bytes, value.tensordicts))
    if isinstance(value, TensorDictBase):
        return sum(map(_size_bytes, value.values()))
    if isinstance(value, Tensor):
        return value.numel() * value.element_size()  # sparse tensors have no `nbytes`
    # A tensorclass arrives pickled, so its tensors are not in the memory that the collector reuses.
    return int(value.bytes()) if is_tensor_collection(value) else 0


def _problem_in(manifest: Mapping[str, Any]) -> str | None:
    """Return the problem with the list of shards in a manifest, or None if the list is correct."""
    found = (_shard_problem(shard, f"shards[{index}]") for index, shard in enumerate(manifest["shards"]))
    return next((problem for problem in found if problem is not None), None)


def _shard_problem(shard: Any, where: str) -> str | None:
    if not isinstance(shard, dict):
        return f"{where} is {shown(shard)}, not a shard"
    versions = shard.get("weightsVersions")
    if not isinstance(versions, dict):
        return f"{where}.weightsVersions is {shown(versions)}, not a range"
    return (
        name_problem(shard.get("name"), _PART, where=f"{where}.name")
        or shape_problem(shard.get("shape"), where=f"{where}.shape")
        or counter_problem(shard, "frames", where=f"{where}.")
        or counter_problem(versions, "min", "max", where=f"{where}.weightsVersions.")
    )


def _entry(name: str, shard: TensorDictBase) -> dict[str, Any]:
    versions, mask = shard.get(VERSION_KEY), shard.get(MASK_KEY, None)
    # Padding has no version, and does not count as frames.
    real = versions.flatten() if mask is None else versions[mask]
    return {
        "name": name,
        "shape": list(shard.shape),
        "frames": real.numel(),
        "weightsVersions": {"min": int(real.min()), "max": int(real.max())},
    }
