"""Copy tensors from a GPU to the memory of the host."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def on_the_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return ``tensors`` on the CPU. Blocks until all copies are complete. CPU tensors are not copied.

    Tensors on a GPU are copied to pinned memory, which torch reuses. A copy to newly allocated memory takes 40 times as
    long (docs/decisions/data-plane.md).
    """
    copies = [tensor.detach().to("cpu", non_blocking=tensor.is_cuda) for tensor in tensors]
    for device in {tensor.device for tensor in tensors if tensor.is_cuda}:
        torch.cuda.current_stream(device).synchronize()
    return copies
