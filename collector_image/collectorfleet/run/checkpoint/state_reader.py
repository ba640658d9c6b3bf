"""Reads tensors and plain values of a checkpoint's state, and none of the user's classes.

A run unpickles everything, because it needs its objects back: see :mod:`collectorfleet.run.checkpoint.training_state`.
A reader of weights needs no code of the user's, and runs none that somebody put into the file.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import torch

from collectorfleet.errors import describe

# What tensors, state dicts and times are made of.
_READ: Final = frozenset(
    {
        ("collections", "OrderedDict"),
        *(("datetime", name) for name in ("datetime", "timedelta", "timezone")),
        ("_codecs", "encode"),  # bytes, as this protocol of pickle has them
        *(("torch._utils", f"_rebuild_{name}") for name in ("tensor_v2", "tensor_v3", "parameter")),
        ("torch", "Size"),
        ("torch.storage", "UntypedStorage"),
    }
)


def read_state(file: Path) -> Mapping[str, Any]:
    """Return what the state file has by name. Objects of other classes than tensors and plain values are ``Unread``.

    The tensors are on the CPU, and are read from the file when they are used. Raises ValueError for another file.
    """
    unpickler = SimpleNamespace(Unpickler=_Unpickler, __name__=__name__)
    try:
        found = torch.load(file, map_location="cpu", mmap=True, pickle_module=unpickler, weights_only=False)
    except Exception as error:  # (a file of something else fails anywhere in torch)
        raise ValueError(f"{file}: {describe(error)}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file}: the file is not the state of a checkpoint")
    return found


class _TakesEverything(type):
    def __setitem__(cls, key: object, value: object) -> None:
        """Take an item of a dictionary of the user's."""


class Unread(metaclass=_TakesEverything):
    """In the place of each class and function that is not read, and of all that they make.

    It is its own instance, so that a pickle may take what a function returns for a class.
    """

    def __new__(cls, *_arguments: object, **_named: object) -> Any:
        return cls

    @classmethod
    def __setstate__(cls, _state: object) -> None:
        """Take the attributes of an object."""

    @classmethod
    def append(cls, _item: object) -> None:
        """Take an item of a list of the user's."""

    extend = add = append


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        dtype = getattr(torch, name, None) if module == "torch" else None
        if (module, name) in _READ or isinstance(dtype, torch.dtype):
            return super().find_class(module, name)
        return Unread
