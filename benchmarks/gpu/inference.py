"""Compares a policy in each collector's process with a policy in one process for all collectors.

A client plays a collector with 64 CPU environments, whose images are constant. A client that acts itself copies the
images to the GPU. A client of the server copies the images to shared memory.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from benchmarks.gpu.devices import is_gpu
from benchmarks.gpu.networks import NETWORKS
from benchmarks.gpu.processes import Answer, Peer, peers
from benchmarks.gpu.results import Results, rounds
from benchmarks.gpu.serving import Shared, make_server

CLIENTS, QUICK_CLIENTS = (4, 16), (1, 2)
ENVS, QUICK_ENVS = 64, 2
ROUNDS = 2
TURN_SECONDS, QUICK_TURN_SECONDS = 1.2, 0.3
# A turn ends with an error if the server does not answer within this time.
_PATIENCE_SECONDS = 20.0

OWN, PINNED = "a copy in each process", "a copy in each process, pinned observations"
ALL, HALF = "one process, up to all clients in a forward", "one process, up to half of the clients in a forward"
SIDES = (OWN, PINNED, ALL, HALF)


def measure(results: Results, device: str, *, quick: bool) -> None:
    counts, envs = (QUICK_CLIENTS, QUICK_ENVS) if quick else (CLIENTS, ENVS)
    turn = QUICK_TURN_SECONDS if quick else TURN_SECONDS
    shared = Shared.of(max(counts), envs)
    cases = list(itertools.product(NETWORKS, counts))
    with results.step("start and turns"), peers(1 + max(counts), _make, device, shared) as (server, *clients):
        pinned = server.ask({"network": next(iter(NETWORKS)), "clients": 1, "most": 1, "warm_up": True}, 60)
        results.add("shared memory is pinned", "of the server", float(pinned), "1 if so")
        for number in rounds(ROUNDS, float("inf")):
            # The turns of the warm-up round are short.
            seconds = turn if number else turn / 5
            for (name, count), side in itertools.product(cases, SIDES if number % 2 else reversed(SIDES)):
                case = f"{name}, {count} clients"
                try:
                    found = _turn(side, server, clients[:count], shared, name, seconds)
                except (RuntimeError, OSError) as error:
                    results.fail(side, case, error)
                    return  # its processes may answer later, in the turn of another side
                for what, (value, unit) in found.items() if number else ():
                    results.add(what, case, value, unit)
                results.save()


def _turn(
    side: str, server: Peer, clients: list[Peer], shared: Shared, name: str, seconds: float
) -> dict[str, tuple[float, str]]:
    """Let the clients collect for ``seconds``. Return each measured value with its unit, by its name."""
    served = side in (ALL, HALF)
    most = max(1, len(clients) // 2) if side == HALF else len(clients)
    message = {"network": name, "clients": len(clients), "most": most}
    if served:
        server.ask({**message, "warm_up": True}, _PATIENCE_SECONDS)
        shared.is_open[0] = True
        server.send({**message, "warm_up": False})
    for client in clients:
        client.send({"network": name, "side": side, "seconds": seconds})
    rates = [client.answer(seconds + _PATIENCE_SECONDS) for client in clients]
    found = {side: (sum(rates), "frames/s")}
    if served:
        shared.is_open[0] = False
        found[f"{side}: clients in a forward"] = (server.answer(_PATIENCE_SECONDS), "mean")
    return found


def _make(index: int, device: str, shared: Shared) -> Answer:
    """Return the answers of the server for index 0, otherwise the answers of a client."""
    torch.set_num_threads(1)
    return make_server(device, shared) if index == 0 else _make_client(index - 1, device, shared)


def _make_client(index: int, device: str, shared: Shared) -> Answer:
    networks = {name: make().eval().to(device) for name, make in NETWORKS.items()}
    observed = torch.randint(0, 255, shared.observations.shape[1:], dtype=torch.uint8)
    in_pinned = observed.pin_memory() if is_gpu(device) else observed
    row, waiting = shared.observations[index], shared.waiting.numpy()

    def act(network: Any, observations: torch.Tensor) -> torch.Tensor:
        actions: torch.Tensor = network(observations.to(device, non_blocking=True)).cpu()
        return actions

    def ask() -> torch.Tensor:
        row.copy_(observed)
        waiting[index] = True
        shared.requests.release()
        if not shared.done[index].acquire(timeout=_PATIENCE_SECONDS):
            raise TimeoutError("no answer of the server")
        return shared.actions[index].clone()

    def answer(message: Mapping[str, Any], opened_ms: float) -> float:
        network = networks[message["network"]]
        steps: dict[str, Callable[[], torch.Tensor]] = {
            OWN: lambda: act(network, observed),
            PINNED: lambda: act(network, in_pinned),
        }
        with torch.inference_mode():
            return _frames_each_second(steps.get(message["side"], ask), message["seconds"])

    return answer


def _frames_each_second(step: Callable[[], torch.Tensor], seconds: float) -> float:
    frames, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        frames += step().numel()
    return frames / took
