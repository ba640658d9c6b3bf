"""How the processes of a gang come to be; each finds the driver by its address."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.process import BaseProcess
from typing import Protocol

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed.member import member

Address = tuple[str, int]


class Launched(Protocol):
    """The process of one collector."""

    def kill(self) -> None:
        """End it, whatever it does; nothing if it has ended."""

    def how_it_ended(self) -> str:
        """Block until it has."""


class Launcher(Protocol):
    """``host`` is the address that the driver and all members listen at: they are on one machine."""

    host: str

    def launch(self, collector: CollectorId, address: Address, key: bytes) -> Launched:
        """Begin a process that runs :func:`member`; returns at once."""


class LocalProcess:
    """A process of this machine; ``pid`` is its id."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid = process.pid

    def kill(self) -> None:
        self._process.kill()

    def how_it_ended(self) -> str:
        self._process.join()
        code = self._process.exitcode or 0
        return f"its process ended by {signal.Signals(-code).name}" if code < 0 else f"its process ended with {code}"


class LocalProcesses:
    """Processes of this machine, forked from one that has imported torch and has no thread."""

    host = "127.0.0.1"

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([member.__module__])

    def launch(self, collector: CollectorId, address: Address, key: bytes) -> LocalProcess:
        # Not a daemon in multiprocessing's sense: those may have no processes, and collectors may.
        process = self._context.Process(target=member, args=(collector, address, key), name=f"collector-{collector}")
        process.start()
        return LocalProcess(process)
