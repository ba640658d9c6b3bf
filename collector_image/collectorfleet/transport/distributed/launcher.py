"""Launchers start the processes of a gang. Each process gets the driver's address and the token."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Protocol

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed.devices import visible_devices
from collectorfleet.transport.distributed.link import Address
from collectorfleet.transport.processes import forking
from collectorfleet.transport.processes.launched import Launched, LocalProcess


class Launcher(Protocol):
    """Starts the processes of a gang.

    ``host`` is the address of this machine at which members reach the driver. ``token`` is the shared secret.
    ``gpus_per_collector`` is the number of GPUs of each process.
    """

    host: str
    token: bytes
    gpus_per_collector: float

    def claim(self) -> None:
        """Reserve the launcher for one fleet until :meth:`close`.

        Raises InvalidOption if another fleet uses or has used the launcher.
        """

    def launch(self, collector: CollectorId, address: Address) -> Launched:
        """Start a process that runs :func:`member`, once there is room for the process. Returns at once."""

    def close(self) -> None:
        """End the launcher. Call this after all launched processes were killed."""


class LocalProcesses:
    """Starts processes on this machine.

    The collector ``c<first>`` gets the first of this machine's GPUs, or the first share of this GPU. The output of the
    processes is appended to ``output``. If ``output`` is None, the processes write to this process's own output.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        *,
        token: bytes | None = None,
        gpus_per_collector: float = 0.0,
        first: int = 0,
        output: Path | None = None,
    ) -> None:
        self.token = token or secrets.token_bytes(32)
        self.gpus_per_collector = gpus_per_collector
        self._first = first
        self._output = output

    @classmethod
    def prepare(cls) -> None:
        """Before the first launch, import torch in the process that collectors are forked from. Returns at once."""
        forking.prepare()

    def claim(self) -> None:
        """Do nothing, because any number of fleets may use this launcher."""

    def launch(self, collector: CollectorId, address: Address) -> LocalProcess:
        position = collector.index - self._first
        devices = visible_devices(position, self.gpus_per_collector, os.environ.get("CUDA_VISIBLE_DEVICES"))
        arguments = (collector, address, self.token, devices, self._output)
        return LocalProcess(forking.begin(_run, arguments, name=f"collector-{collector}"))

    def close(self) -> None:
        """Do nothing."""


def _run(collector: CollectorId, address: Address, token: bytes, devices: str | None, output: Path | None) -> None:
    if output is not None:
        with output.open("ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
    if devices is not None:  # this process has not initialized CUDA yet
        os.environ["CUDA_VISIBLE_DEVICES"] = devices
    from collectorfleet.transport.distributed.member import member

    member(collector, address, token)
