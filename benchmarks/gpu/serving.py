"""A prototype of a server: one process acts for many clients, which share memory for observations and actions with it.

A client sets its flag and releases ``requests``. The server takes as many clients as it acquired ``requests``. It
releases ``done`` of each client that it has answered.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, multiprocessing, nn

from benchmarks.gpu.devices import is_gpu, register, synchronize
from benchmarks.gpu.networks import NETWORKS, PIXELS
from benchmarks.gpu.processes import Answer

MAX_WAIT_SECONDS = 200e-6
_WARM_UP = 3  # forwards of each size
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Shared:
    """Memory that server and clients share, with a row per client. A process gets it only at its start."""

    observations: Tensor  # uint8 [clients, envs, 4, 84, 84]
    actions: Tensor  # int64 [clients, envs]
    waiting: Tensor  # bool [clients]
    is_open: Tensor  # bool [1]: whether requests may still come
    requests: Any
    done: list[Any]

    @classmethod
    def of(cls, clients: int, envs: int) -> Shared:
        context = multiprocessing.get_context("spawn")
        return cls(
            _shared((clients, envs, *PIXELS), torch.uint8),
            _shared((clients, envs), torch.int64),
            _shared((clients,), torch.bool),
            _shared((1,), torch.bool),
            context.Semaphore(0),
            [context.Semaphore(0) for _ in range(clients)],
        )


def _shared(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    tensor: Any = torch.zeros(shape, dtype=dtype)
    shared: Tensor = tensor.share_memory_()
    return shared


def make_server(device: str, shared: Shared) -> Answer:
    """Return the function that answers a message with ``network``, ``clients``, ``most`` and ``warm_up``.

    It serves the clients while ``shared.is_open``, or only warms up.
    """
    server = _Server(device, shared, {name: NETWORKS[name]().eval().to(device) for name in NETWORKS})

    def answer(message: dict[str, Any], opened_ms: float) -> Any:
        with torch.inference_mode():
            return server.warm_up(**message) if message.pop("warm_up") else server.serve(**message)

    return answer


class _Server:
    """The networks of a server, with its input and output tensors."""

    def __init__(self, device: str, shared: Shared, networks: Mapping[str, nn.Module]) -> None:
        self._device, self._shared, self._networks = device, shared, networks
        self._registered = register(shared.observations, device)
        self._inputs = torch.zeros(shared.observations.shape, dtype=torch.uint8, device=device)
        self._outputs = torch.zeros(shared.actions.shape, dtype=torch.int64, pin_memory=is_gpu(device))
        self._waiting = shared.waiting.numpy()
        self._next = 0  # the client that is checked first

    def warm_up(self, network: str, clients: int, most: int) -> bool:
        """Act for each number of clients up to ``most``. Return whether the shared memory is pinned."""
        for count in range(1, most + 1):
            for _ in range(_WARM_UP):
                self._act(self._networks[network], list(range(count)))
        return self._registered

    def serve(self, network: str, clients: int, most: int) -> float:
        """Serve while ``shared.is_open``, at most ``most`` clients per forward. Return the mean number of clients."""
        forwards = served = 0
        while taken := self._acquired(clients, most):
            ready = self._ready(clients, taken)
            self._act(self._networks[network], ready)
            for place, client in enumerate(ready):
                self._shared.actions[client].copy_(self._outputs[place])
                self._waiting[client] = False
                self._shared.done[client].release()
            forwards, served = forwards + 1, served + taken
        return served / max(1, forwards)

    def _acquired(self, clients: int, most: int) -> int:
        """Return how many clients to serve: all that request within 200 us after the first, up to ``most``.

        Return 0 if no client waits and ``shared.is_open`` is False.
        """
        requests = self._shared.requests
        while not requests.acquire(timeout=_POLL_SECONDS):
            if not self._shared.is_open[0]:
                return 0
        taken, ends = 1, time.perf_counter() + MAX_WAIT_SECONDS
        while taken < min(clients, most):
            # Clients that wait already are taken even after the time is over. A timeout must not be negative.
            left = ends - time.perf_counter()
            if not (requests.acquire(timeout=left) if left > 0 else requests.acquire(block=False)):
                break
            taken += 1
        return taken

    def _ready(self, clients: int, taken: int) -> list[int]:
        """Return ``taken`` waiting clients. Begin with the client after the last served client."""
        order = ((self._next + step) % clients for step in range(clients))
        ready = list(itertools.islice((client for client in order if self._waiting[client]), taken))
        self._next = ready[-1] + 1
        return ready

    def _act(self, network: nn.Module, ready: list[int]) -> None:
        inputs = self._inputs[: len(ready)]
        for place, client in enumerate(ready):
            inputs[place].copy_(self._shared.observations[client], non_blocking=True)
        self._outputs[: len(ready)].view(-1).copy_(network(inputs.flatten(0, 1)), non_blocking=True)
        synchronize(self._device)
