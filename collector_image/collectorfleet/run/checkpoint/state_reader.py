"""Read tensors and plain values from a checkpoint's state, without the user's classes.

A run unpickles everything to restore its objects: see :mod:`collectorfleet.run.checkpoint.training_state`. This reader
of weights does not need the user's code, and does not execute code that is in the file.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import torch

from collectorfleet.errors import describe

# The classes and functions in pickles of tensors, state dicts and times.
_READ: Final = frozenset(
    {
        ("collections", "OrderedDict"),
        *(("datetime", name) for name in ("datetime", "timedelta", "timezone")),
        ("_codecs", "encode"),  # this pickle protocol uses it to encode bytes
        *(("torch._utils", f"_rebuild_{name}") for name in ("tensor_v2", "tensor_v3", "parameter")),
        ("torch", "Size"),
        ("torch.storage", "UntypedStorage"),
    }
)


def read_state(file: Path) -> Mapping[str, Any]:
    """Return the states in the file, by name. Objects other than tensors and plain values are ``Unread``.

    The tensors are on the CPU, and are read from the file on first use. Raises ValueError for another kind of file.
    """
    unpickler = SimpleNamespace(Unpickler=_Unpickler, __name__=__name__)
    try:
        found = torch.load(file, map_location="cpu", mmap=True, pickle_module=unpickler, weights_only=False)
    except Exception as error:  # (for a file with other content, torch may raise any error)
        raise ValueError(f"{file}: {describe(error)}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file}: the file is not the state of a checkpoint")
    return found


class _TakesEverything(type):
    def __setitem__(cls, key: object, value: object) -> None:
        """Ignore an item of the user's dictionary class."""


class Unread(metaclass=_TakesEverything):
    """Replaces each class and function that is not read. It also replaces their instances and results.

    The class is its own instance, because a pickle may use the result of a function as a class.
    """

    def __new__(cls, *_arguments: object, **_named: object) -> Any:
        return cls

    @classmethod
    def __setstate__(cls, _state: object) -> None:
        """Ignore the attributes of an object."""

    @classmethod
    def append(cls, _item: object) -> None:
        """Ignore an item of the user's list class."""

    extend = add = append


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        dtype = getattr(torch, name, None) if module == "torch" else None
        if (module, name) in _READ or isinstance(dtype, torch.dtype):
            return super().find_class(module, name)
        return Unread
