"""Write weights to a file for other programs: ``.pt`` of torch, or ``.safetensors``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, Final

import torch
from safetensors.torch import save
from torch import Tensor

from collectorfleet import durable_files
from collectorfleet.run.checkpoint.kept_weights import KeptWeights

_VERSIONS_OF: Final = ("collectorfleet", "torch", "torchrl")


def write_weights(file: Path, weights: KeptWeights) -> None:
    """Write ``weights`` with their metadata, atomically. The suffix of ``file`` selects the format.

    Raises OSError, and KeyError for an unknown suffix.
    """
    put = WRITERS[file.suffix]
    metadata = {**weights.metadata, **{package: version(package) for package in _VERSIONS_OF}}
    durable_files.write(file, lambda out: put(out, weights.tensors, metadata))


def _put_torch(out: BinaryIO, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    # Clone, because torch writes the whole storage of a tensor, even for a view of a part of it.
    state = {name: tensor.clone() for name, tensor in tensors.items()}
    torch.save({"state_dict": state, "metadata": dict(metadata)}, out)


def _put_safetensors(out: BinaryIO, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    # Clone, because the format allows no shared tensors. safetensors' `save_file` is not used, because it makes files
    # that only their owner may read.
    out.write(save({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, dict(metadata)))


WRITERS: Final[Mapping[str, Callable[[BinaryIO, Mapping[str, Tensor], Mapping[str, str]], None]]] = {
    ".pt": _put_torch,
    ".safetensors": _put_safetensors,
}
