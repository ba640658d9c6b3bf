"""Check the size of a replay buffer's dump before the dump is written.

TorchRL writes a dump into mapped memory. If the volume becomes full meanwhile, the kernel kills the process by SIGBUS.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDictBase


def check_dumps(buffer: Any, check: Callable[[Path, int], None]) -> None:
    """Let ``buffer`` call ``check(folder, size_bytes)`` before each dump of its storage into ``folder``.

    ``buffer.dumps(...)`` raises the errors of ``check``. For a buffer in a Ray actor, the actor calls ``check``, which
    is pickled. The size leaves out the sampler and the writer. Ensembles of buffers and compressed storages do not call
    ``check``.
    """
    buffer.register_save_hook(partial(_checked, check))


def check_room(folder: Path, needed_bytes: int) -> None:
    """Raise an OSError if the volume of ``folder`` has less free space than the dump needs.

    The error has no path, because ``folder`` is a staging folder. The caller adds the path that the user knows.
    """
    left = shutil.disk_usage(folder).free
    if left < needed_bytes:
        raise OSError(
            errno.ENOSPC,
            f"{os.strerror(errno.ENOSPC)} ({needed_bytes:,} bytes needed for a dump of the buffer, {left:,} left)",
        )


def _checked(check: Callable[[Path, int], None], content: Any, path: Path | None = None) -> Any:
    if path is not None:  # None: an HDF5 file, which is not mapped
        check(path, _tensor_bytes(content))
    return content


def _tensor_bytes(content: Any) -> int:
    """Return the size of all tensors in nested containers."""
    match content:
        case torch.Tensor():
            return content.numel() * content.element_size()
        case TensorDictBase():
            return int(content.bytes())
        case Mapping():
            return sum(_tensor_bytes(one) for one in content.values())
        case list() | tuple():
            return sum(_tensor_bytes(one) for one in content)
        case _:
            return 0
