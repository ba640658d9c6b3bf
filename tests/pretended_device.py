"""Pretend to torch that a second device exists. Its tensors are computed on the CPU.

On a machine without a GPU, tests find tensors that are on the wrong device. An operation on tensors of two devices
raises, as with a GPU. Torch keeps the device until the process ends, so a test that uses it needs its own process.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from torchrl.collectors import Collector

NAME = "pretended"


class Pretended(Tensor):
    """A tensor that reports the pretended device and keeps its values in ``inner``, a tensor on the CPU."""

    @staticmethod
    def __new__(cls, inner: Tensor) -> Pretended:
        found: Pretended = Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        found.inner = inner
        return found

    inner: Tensor

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


def compute(func: Any, args: Any, kwargs: Any) -> Any:
    """Run an operation of torch on the CPU, and return tensors of the pretended device.

    RuntimeError if the operation mixes tensors of two devices and does not move them.
    """
    given = [one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
    moves = func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
    if not moves and any(one.dim() and not isinstance(one, Pretended) for one in given):
        raise RuntimeError(f"{func}: Expected all tensors to be on the same device")
    device = kwargs.get("device")
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    inner = pytree.tree_map_only(Pretended, lambda one: one.inner, (args, kwargs))
    found = func(*inner[0], **inner[1])
    if device is not None and torch.device(device).type == "cpu":
        return found
    if found is None:  # the operation writes into lists of tensors
        return None
    if func._schema.name.endswith("_"):
        return args[0]
    return pytree.tree_map_only(Tensor, Pretended, found)


def set_up() -> None:
    """Register the device in torch for the rest of the process, and make TorchRL's collector accept it."""
    _setup_privateuseone_for_python_backend(NAME)
    getattr(torch, NAME).synchronize = lambda *_: None
    library = torch.library.Library("aten", "IMPL")
    for name in ("empty_strided", "empty.memory_format"):
        packet, _, overload = name.partition(".")
        make = getattr(getattr(torch.ops.aten, packet), overload or "default")
        library.impl(name, _made_by(make), "PrivateUse1")
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(lambda func, *args, **kwargs: compute(func, args, kwargs), "PrivateUse1")
    _KEPT.extend((library, everything))
    Collector._get_sync_fn = lambda *_: lambda: None


# Torch removes the registrations of a library when the library object is deleted.
_KEPT: list[Any] = []


def _made_by(make: Any) -> Any:
    def made(*args: Any, device: Any = None, layout: Any = None, pin_memory: Any = None, **kwargs: Any) -> Tensor:
        return Pretended(make(*args, **kwargs, device="cpu"))

    return made
