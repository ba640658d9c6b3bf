"""How the processes of a gang come to be; each finds the driver by its address and proves that it has its token."""

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
    """``host`` is the address of this machine at which members reach the driver, ``token`` the secret that all share.

    ``gpus_per_collector`` is what each process has of the GPUs around it.
    """

    host: str
    token: bytes
    gpus_per_collector: float

    def claim(self) -> None:
        """A fleet begins to use it, until :meth:`close`. Raises InvalidOption: another has, or had it."""

    def launch(self, collector: CollectorId, address: Address) -> Launched:
        """Begin a process that runs :func:`member`, once there is room for one; returns at once."""

    def close(self) -> None:
        """Launch no more; what was launched has been killed."""


class LocalProcesses:
    """Processes of this machine.

    The collector ``c<first>`` has the first of this machine's GPUs, or the first share of it. What they print is added
    to ``output``; None: it goes where this process's own does.
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
        """Import torch where processes are forked from, before there is one to launch. Returns at once."""
        forking.prepare()

    def claim(self) -> None:
        """Any number of fleets may use it."""

    def launch(self, collector: CollectorId, address: Address) -> LocalProcess:
        position = collector.index - self._first
        devices = visible_devices(position, self.gpus_per_collector, os.environ.get("CUDA_VISIBLE_DEVICES"))
        arguments = (collector, address, self.token, devices, self._output)
        return LocalProcess(forking.begin(_run, arguments, name=f"collector-{collector}"))

    def close(self) -> None:
        """There is nothing to end."""


def _run(collector: CollectorId, address: Address, token: bytes, devices: str | None, output: Path | None) -> None:
    if output is not None:
        with output.open("ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
    if devices is not None:  # nobody has asked CUDA for its devices by now
        os.environ["CUDA_VISIBLE_DEVICES"] = devices
    from collectorfleet.transport.distributed.member import member

    member(collector, address, token)
