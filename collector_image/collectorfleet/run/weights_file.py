"""Write weights to a file for other programs: ``.pt`` of torch, or ``.safetensors``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import save
from torch import Tensor

from collectorfleet.durable_files import UNFINISHED
from collectorfleet.run.checkpoint.kept_weights import KeptWeights

_VERSIONS_OF: Final = ("collectorfleet", "torch", "torchrl")


def write_weights(file: Path, weights: KeptWeights) -> None:
    """Write ``weights`` with their metadata, atomically, in the format of the suffix of ``file``.

    Raises OSError, and KeyError for an unknown suffix.
    """
    write = WRITERS[file.suffix]
    metadata = {**weights.metadata, **{package: version(package) for package in _VERSIONS_OF}}
    unfinished = file.with_name(f"{UNFINISHED}{file.name}")
    try:
        write(unfinished, weights.tensors, metadata)
        unfinished.replace(file)
    except BaseException:
        # The unfinished file would take space on a full volume.
        unfinished.unlink(missing_ok=True)
        raise


def _write_torch(file: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    # Clone, because torch writes the whole storage of a tensor, even for a view of a part of it.
    state = {name: tensor.clone() for name, tensor in tensors.items()}
    with file.open("wb") as out:
        torch.save({"state_dict": state, "metadata": dict(metadata)}, out)


def _write_safetensors(file: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    # Clone, because the format allows no shared tensors. Only the owner may read files of safetensors' `save_file`.
    file.write_bytes(save({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, dict(metadata)))


WRITERS: Final[Mapping[str, Callable[[Path, Mapping[str, Tensor], Mapping[str, str]], None]]] = {
    ".pt": _write_torch,
    ".safetensors": _write_safetensors,
}
