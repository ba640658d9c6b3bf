"""Record functions of tensors as CUDA graphs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Final, Protocol

import torch
from torch import Tensor

Values = dict[Any, Tensor]


class Graph(Protocol):
    """A recorded call."""

    def replay(self) -> Values:
        """Launch the recorded kernels.

        Each replay returns the same tensors, and overwrites the results of the previous replay.
        """


# In the first calls, torch and compiled code allocate memory and choose kernels. CUDA cannot record these actions.
_FIRST_CALLS: Final = 3


class GraphedFunction:
    """Calls the function ``call`` a few times, then records ``call`` as a CUDA graph, and then replays the graph.

    ``call`` takes and returns tensors by key. Each call must launch the same kernels, and must not read results on the
    host. It must draw random numbers from torch's default generator. Some tensors are not arguments of ``call``, such
    as weights. The graph reads these tensors at fixed addresses, so they may only be changed in place.
    """

    def __init__(self, call: Callable[[Values], Values]) -> None:
        self._call = call
        self._left = _FIRST_CALLS
        self._given: Values = {}
        self._graph: Graph | None = None

    def __call__(self, given: Values) -> Values:
        """Return the result of ``call`` for ``given``. The next call may overwrite the result."""
        if self._left:
            self._left -= 1
            return self._call(given)
        if self._graph is None:
            self._given = {key: tensor.clone() for key, tensor in given.items()}
            device = next(iter(given.values())).device
            self._graph = capture(lambda: self._call(dict(self._given)), device)
        targets, sources = [], []
        for key, target in self._given.items():
            source = given[key]
            if source.shape != target.shape:
                raise ValueError(
                    f"{key} has the shape {list(source.shape)}, but was recorded with {list(target.shape)}"
                )
            if source is not target:
                targets.append(target)
                sources.append(source)
        torch._foreach_copy_(targets, sources, non_blocking=True)
        return self._graph.replay()


class _CudaGraph:
    def __init__(self, graph: torch.cuda.CUDAGraph, made: Values) -> None:
        self._graph = graph
        self._made = made

    def replay(self) -> Values:
        self._graph.replay()
        return self._made


def capture(call: Callable[[], Values], device: torch.device) -> Graph:
    """Record the kernels of ``call`` on ``device``. The kernels do not run during the recording.

    Raises:
        RuntimeError: ``call`` reads a result on the host, or does something else that CUDA cannot record.
    """
    gc.collect()  # Free the memory of an older graph.
    try:
        with torch.cuda.device(device):
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            # The capture mode is thread-local, because other threads of the process receive weights during the
            # recording.
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                made = call()
    except RuntimeError as error:
        raise RuntimeError(
            f"cudagraph_policy: the steps cannot be recorded as a CUDA graph ({error}). Unset cudagraph_policy, or "
            "remove code that reads tensors on the host (.item()), makes tensors from numbers, or uses another "
            "generator than torch's"
        ) from error
    return _CudaGraph(graph, made)
