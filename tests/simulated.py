"""Define environments that ask a simulator in each step, and start simulators for them."""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import psutil
from tensordict import TensorDictBase

from collectorfleet import SimulatorProcess
from collectorfleet.actor.simulator.options import Simulator
from tests import envs, simulator

PROGRAM = Path(simulator.__file__)
SECONDS = 120.0


class Simulated(envs.Counting):
    """Counts its steps as its base class does, and waits for an answer of a simulator in each step.

    ``address`` is ``host:port`` of the simulator.
    """

    def __init__(self, address: str, length: int) -> None:
        super().__init__(length=length)
        host, port = address.split(":")
        self._client = socket.create_connection((host, int(port)))
        weakref.finalize(self, self._client.close)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        self._client.sendall(b"s")
        if not self._client.recv(1):
            raise ConnectionError("the simulator has closed the connection")
        return super()._step(tensordict)


class Deaf(Simulated):
    """Ignores the end of its simulator, and hangs in that step forever."""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        try:
            return super()._step(tensordict)
        except OSError:
            threading.Event().wait()
            raise


def make(process: Mapping[str, str], length: int = 5) -> Simulated:
    """Return an environment that uses the simulator with the addresses ``process``."""
    return Simulated(process["grpc"], length)


def make_deaf(process: Mapping[str, str]) -> Simulated:
    """Return an environment that ignores the end of its simulator."""
    return Deaf(process["grpc"], 5)


def process(log: Path, *behaviours: str, ready_seconds: float = 60.0) -> SimulatorProcess:
    """Return the simulator :mod:`tests.simulator`, which writes the ids of its processes into ``log``."""
    command = ["/usr/bin/env", f"SIMULATOR_LOG={log}", "{python}", str(PROGRAM), "{grpc}", *behaviours]
    return SimulatorProcess(command, ["grpc"], timedelta(seconds=ready_seconds))


def watched(log: Path, *behaviours: str, request_seconds: float = SECONDS, ready_seconds: float = 60.0) -> Simulator:
    """Return the simulator of :func:`process` with the timeouts of the driver."""
    found = process(log, *behaviours, ready_seconds=ready_seconds)
    return Simulator(found, SECONDS, request_seconds, request_seconds)


def pids(log: Path) -> list[int]:
    """Return the ids of all processes in ``log``, in the order of their starts."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def running(log: Path) -> list[int]:
    """Return the ids in ``log`` whose processes still run."""
    return [pid for pid in pids(log) if runs(pid)]


def runs(pid: int) -> bool:
    """Return whether the process runs. A zombie does not run."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
