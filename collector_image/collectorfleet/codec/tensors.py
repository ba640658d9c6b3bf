"""A TensorDict as a list of numpy arrays and a schema, and back.

Ray reads numpy arrays where they lie in its object store, while a pickled TensorDict is copied twice. The schema keeps
what numpy does not know: nesting, batch sizes, dimension names, and dtypes such as bfloat16, which travel as integers
of their size. What no array can carry (non-tensor data, ragged stacks) goes pickled, and is counted.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase, is_tensor_collection
from torch import Tensor

# Arrays of Ray's object store are read-only, and nothing here writes to them.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable", category=UserWarning)

Array = npt.NDArray[Any]

_INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_NUMPY_KNOWS = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    }
)


@dataclass(frozen=True)
class Leaf:
    """One tensor: which array it is in, and the dtype to read it as."""

    index: int
    dtype: torch.dtype


@dataclass(frozen=True)
class Node:
    """One (nested) TensorDict."""

    batch_size: tuple[int, ...]
    names: tuple[str | None, ...] | None
    leaves: dict[str, Leaf]
    children: dict[str, Node]
    pickled: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Encoded:
    root: Node
    arrays: list[Array] = field(repr=False)

    @property
    def frames(self) -> int:
        """Elements of the batch, such as envs times steps."""
        return math.prod(self.root.batch_size)

    @property
    def size_bytes(self) -> int:
        """Of the arrays; what travels pickled is not in it."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def pickled_count(self) -> int:
        """Entries that no array could carry."""

        def count(node: Node) -> int:
            return len(node.pickled) + sum(count(child) for child in node.children.values())

        return count(self.root)


def encode(batch: TensorDictBase) -> Encoded:
    """Encode ``batch``. Contiguous CPU tensors are referenced, not copied: serialize before they change."""
    arrays: list[Array] = []
    return Encoded(_encode(batch, arrays), arrays)


def decode(encoded: Encoded) -> TensorDict:
    """The TensorDict, reading the arrays where they lie: not to be written to if they are read-only."""
    return _decode(encoded.root, encoded.arrays)


def _encode(batch: TensorDictBase, arrays: list[Array]) -> Node:
    names = tuple(batch.names) if batch._has_names() else None
    node = Node(tuple(batch.batch_size), names, {}, {}, {})
    for key, value in batch.items():
        if isinstance(value, Tensor) and fits_an_array(value):
            node.leaves[key] = Leaf(len(arrays), value.dtype)
            arrays.append(_array(value))
        elif isinstance(value, TensorDictBase) and not isinstance(value, LazyStackedTensorDict):
            node.children[key] = _encode(value, arrays)
        else:
            # Tensors of a GPU would need the same GPU on the other side.
            node.pickled[key] = value.cpu() if isinstance(value, Tensor) or is_tensor_collection(value) else value
    return node


def fits_an_array(tensor: Tensor) -> bool:
    """Whether the tensor is a plain block of numbers, which numpy can carry."""
    return tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized


def _array(tensor: Tensor) -> Array:
    tensor = tensor.detach().cpu()
    if tensor.dtype not in _NUMPY_KNOWS:
        tensor = tensor.contiguous().view(_INTEGER_OF_SIZE[tensor.dtype.itemsize])
    return np.require(tensor.resolve_conj().resolve_neg().numpy(), requirements="C")


def _decode(node: Node, arrays: list[Array]) -> TensorDict:
    entries: dict[str, Any] = {key: _tensor(arrays[leaf.index], leaf.dtype) for key, leaf in node.leaves.items()}
    entries |= {key: _decode(child, arrays) for key, child in node.children.items()}
    entries |= node.pickled
    return TensorDict(entries, batch_size=node.batch_size, names=node.names)


def _tensor(array: Array, dtype: torch.dtype) -> Tensor:
    tensor = torch.from_numpy(array)
    return tensor if tensor.dtype == dtype else tensor.view(dtype)
