"""Convert a TensorDict to a list of numpy arrays and a schema, and back.

Ray copies a pickled TensorDict twice, but a reader can use numpy arrays in Ray's object store without a copy. The
schema has the information that numpy arrays lack: nesting, batch sizes, dimension names, and dtypes. If numpy lacks a
dtype, such as bfloat16, the values are sent as integers of the same size. Data that does not fit an array (non-tensor
data, ragged stacks) is pickled, and the status counts such entries.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray import cloudpickle
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictBase, is_tensor_collection
from torch import Tensor

from collectorfleet.codec import repeats
from collectorfleet.codec.host import on_the_host
from collectorfleet.errors import UserCodeError, describe
from collectorfleet.torchrl_private.tensordicts import has_names

# Torch warns about read-only arrays. Arrays in Ray's object store are read-only, but this module does not write to
# them.
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
    """One tensor: the index of its array, and the dtype of the tensor."""

    index: int
    dtype: torch.dtype


@dataclass(frozen=True)
class Repeated:
    """A tensor in ``next``. Only its rows that differ from ``root`` are encoded.

    ``root`` is the tensor with the same key in the root. Each other row equals the row one step later in ``root``.
    ``rows`` is the index of the array with the differing rows. ``where`` is the index of the array with the positions
    of these rows.
    """

    root: Leaf
    rows: int
    where: int


@dataclass(frozen=True)
class Schema:
    """The structure of a (nested) TensorDict, without its values.

    ``pickled`` maps an entry's key to an index into the list of pickled values. If ``has_device`` is True,
    the TensorDict has a device in the collector, and the decoded TensorDict has the CPU as its device. If the
    TensorDict is a lazy stack of parts with different shapes, ``stack`` has the schemas of the parts, and ``stack_dim``
    is the dimension of the stack. Otherwise ``stack`` is empty. Rollouts with the same keys, dtypes and batch sizes
    have equal schemas. So the schema is sent only if the reader does not have it yet.
    """

    batch_size: tuple[int, ...]
    names: tuple[str | None, ...] | None
    has_device: bool
    leaves: dict[str, Leaf] = field(default_factory=dict)
    children: dict[str, Schema] = field(default_factory=dict)
    repeated: dict[str, Repeated] = field(default_factory=dict)
    pickled: dict[str, int] = field(default_factory=dict)
    stack: tuple[Schema, ...] = ()
    stack_dim: int = 0


@dataclass(frozen=True)
class Encoded:
    """An encoded TensorDict. If the reader already has the schema, ``schema`` is None during the transfer."""

    schema: Schema | None
    arrays: list[Array] = field(repr=False)
    pickled: list[bytes] = field(default_factory=list, repr=False)

    @property
    def size_bytes(self) -> int:
        """Return the size of the arrays in bytes, without pickled values."""
        return sum(array.nbytes for array in self.arrays)


def encode(batch: TensorDictBase, *, compact: bool = False) -> Encoded:
    """Encode ``batch``.

    The result references contiguous CPU tensors and does not copy them. So serialize the result before these tensors
    change.

    If ``compact`` is true, rows of ``next`` that the root repeats one step later are left out. In this case, the last
    dimension of ``batch`` must be time.

    Raises:
        TypeError: an entry that is not a tensor cannot be pickled.
    """
    tensors: list[Tensor] = []
    pickled: list[bytes] = []
    schema = _encode(batch, tensors, pickled)
    arrays = [_array(tensor) for tensor in on_the_host(tensors)]
    if compact and batch.ndim and "next" in schema.children:
        _leave_out(schema.children["next"], schema, arrays, len(schema.batch_size) - 1)
    return Encoded(schema, arrays, pickled)


def decode(encoded: Encoded) -> TensorDictBase:
    """Return the TensorDict. Its tensors use the memory of the arrays.

    Do not write to the tensors if the arrays are read-only.

    Raises:
        UserCodeError: an entry that is not a tensor cannot be unpickled in this process.
        ValueError: ``encoded`` has no schema.
    """
    if encoded.schema is None:
        raise ValueError("a rollout without its schema cannot be read")
    return _decode(encoded.schema, encoded, len(encoded.schema.batch_size) - 1)


def _encode(batch: TensorDictBase, tensors: list[Tensor], pickled: list[bytes]) -> Schema:
    # For a lazy stack, ``has_names`` returns False even if the stack has names.
    names = tuple(batch.names) if has_names(batch) or isinstance(batch, LazyStackedTensorDict) else None
    if isinstance(batch, LazyStackedTensorDict):
        batch = TensorDict.maybe_dense_stack(batch.tensordicts, batch.stack_dim)
        if isinstance(batch, LazyStackedTensorDict):
            stack = tuple(_encode(one, tensors, pickled) for one in batch.tensordicts)
            has_device = batch.device is not None
            return Schema(tuple(batch.batch_size), names, has_device, stack=stack, stack_dim=batch.stack_dim)
    schema = Schema(tuple(batch.batch_size), names, has_device=batch.device is not None)
    for key, value in batch.items():
        if isinstance(value, Tensor) and fits_an_array(value):
            schema.leaves[key] = Leaf(len(tensors), value.dtype)
            tensors.append(value)
        elif isinstance(value, TensorDictBase) and not isinstance(value, LazyStackedTensorDict):
            schema.children[key] = _encode(value, tensors, pickled)
        else:
            schema.pickled[key] = len(pickled)
            # The value is moved to the CPU, because the reader may not have the same GPU.
            moved = value.cpu() if isinstance(value, Tensor) or is_tensor_collection(value) else value
            pickled.append(_pickle(key, moved))
    return schema


def _pickle(key: str, value: Any) -> bytes:
    # Pickle before the transport does. If pickling failed in the transport, the driver would treat the collector as
    # lost.
    try:
        written: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"the entry {key} cannot be pickled for the driver: {describe(error)}; leave this entry out of the frames"
        ) from error
    return written


def _unpickle(key: str, written: bytes) -> Any:
    try:
        return cloudpickle.loads(written)
    except (Exception, SystemExit) as error:
        raise UserCodeError.of(f"reading the entry {key} of the frames in the driver", error) from error


def _leave_out(after: Schema, before: Schema, arrays: list[Array], time: int) -> None:
    for key, leaf in list(after.leaves.items()):
        twin = before.leaves.get(key)
        if twin is None or twin.dtype != leaf.dtype or arrays[twin.index].shape != arrays[leaf.index].shape:
            continue
        found = repeats.differing(arrays[leaf.index], arrays[twin.index], time)
        if found is not None:
            rows, where = found
            del after.leaves[key]
            arrays[leaf.index] = rows
            after.repeated[key] = Repeated(twin, leaf.index, len(arrays))
            arrays.append(where)
    for key, child in after.children.items():
        if key in before.children:
            _leave_out(child, before.children[key], arrays, time)


def fits_an_array(tensor: Tensor) -> bool:
    """Return whether the tensor is a plain block of numbers, so that it fits a numpy array."""
    return tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized


def _array(tensor: Tensor) -> Array:
    if tensor.dtype not in _NUMPY_KNOWS:
        tensor = tensor.contiguous().view(_INTEGER_OF_SIZE[tensor.dtype.itemsize])
    return np.require(tensor.resolve_conj().resolve_neg().numpy(), requirements="C")


def _decode(schema: Schema, encoded: Encoded, time: int) -> TensorDictBase:
    if schema.stack:
        stack = [_decode(one, encoded, time) for one in schema.stack]
        found = LazyStackedTensorDict(*stack, stack_dim=schema.stack_dim)
        found.names = schema.names
        return found
    entries: dict[str, Any] = {
        key: _tensor(encoded.arrays[leaf.index], leaf.dtype) for key, leaf in schema.leaves.items()
    }
    for key, one in schema.repeated.items():
        arrays = encoded.arrays
        after = repeats.repeated(arrays[one.root.index], arrays[one.rows], arrays[one.where], time)
        entries[key] = _tensor(after, one.root.dtype)
    entries |= {key: _decode(child, encoded, time) for key, child in schema.children.items()}
    entries |= {key: _unpickle(key, encoded.pickled[index]) for key, index in schema.pickled.items()}
    device = torch.device("cpu") if schema.has_device else None
    return TensorDict(entries, batch_size=schema.batch_size, names=schema.names, device=device)


def _tensor(array: Array, dtype: torch.dtype) -> Tensor:
    tensor = torch.from_numpy(array)
    return tensor if tensor.dtype == dtype else tensor.view(dtype)
