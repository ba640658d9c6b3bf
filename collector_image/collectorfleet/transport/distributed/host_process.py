"""A host of collectors. The host connects to each new driver at its address, and executes the driver's messages.

Each collector runs in its own process, so that a hanging collector can be killed. When the connection to the driver
ends, the host ends all collectors and waits for the next driver.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collectorfleet.errors import CollectorFleetError, InvalidOption, describe
from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed import host_messages
from collectorfleet.transport.distributed.launcher import LocalProcesses
from collectorfleet.transport.distributed.link import Address, Link, dial
from collectorfleet.transport.processes.launched import LocalProcess
from collectorfleet_api.names import ENV_POD

log = logging.getLogger("collectorfleet")

_LOOK_SECONDS: Final = 0.5
_SAY_SECONDS: Final = 30.0
_DIAL_SECONDS: Final = 3.0


class HostRefused(CollectorFleetError):
    """Raised if the driver rejects this host."""


@dataclass(frozen=True)
class Driver:
    """The address of the driver and the token that authenticates it. Each connection attempt calls both functions.

    The functions raise OSError or ValueError as long as there is no address or no token.
    """

    address: Callable[[], Address]
    token: Callable[[], bytes]


class CollectorHost:
    """A host with the given ``rank`` that runs ``collectors`` processes.

    ``pod`` is the host's name in the driver's messages.
    """

    def __init__(self, driver: Driver, rank: int, collectors: int, pod: str) -> None:
        self._driver = driver
        self._hello = host_messages.HostHello(rank, collectors, pod)
        # Collectors report this name for the status.
        os.environ[ENV_POD] = pod
        LocalProcesses.prepare()

    def serve(self) -> None:
        """Serve one driver after another. Only HostRefused or the exception of a signal handler ends this call."""
        while True:
            link, token = self._find_driver()
            log.info("the driver is connected")
            processes = _Processes(link, token, self._hello.rank * self._hello.collectors)
            try:
                self._execute_commands(link, processes)
            except (EOFError, OSError) as error:
                log.info("the driver is lost (%s); waiting for the next driver", error)
            finally:
                link.close()
                processes.end()

    def _find_driver(self) -> tuple[Link, bytes]:
        say_at = time.monotonic()
        while True:
            try:
                token = self._driver.token()
                link = dial(self._driver.address(), token, timeout_seconds=_DIAL_SECONDS)
            except (OSError, EOFError, ValueError) as error:
                if time.monotonic() >= say_at:
                    log.info("waiting for the driver: %s", error)
                    say_at += _SAY_SECONDS
                time.sleep(_LOOK_SECONDS)
            else:
                link.send_message(self._hello)
                return link, token

    def _execute_commands(self, link: Link, processes: _Processes) -> None:
        while True:
            match link.receive_message():
                case host_messages.Welcome(gpus_per_collector):
                    processes.gpus_per_collector = gpus_per_collector
                case host_messages.Launch(collector, address):
                    processes.launch(collector, address)
                case host_messages.Kill(collector):
                    processes.kill(collector)
                case host_messages.Refused(why):
                    raise HostRefused(f"the driver refuses host {self._hello.pod} (rank {self._hello.rank}): {why}")


class _Processes:
    """The processes of one driver's collectors."""

    def __init__(self, link: Link, token: bytes, first: int) -> None:
        self.gpus_per_collector = 0.0
        self._link = link
        self._token = token
        self._first = first
        self._running: dict[CollectorId, LocalProcess] = {}

    def launch(self, collector: CollectorId, address: Address) -> None:
        for before in [one for one in self._running if one.name == collector.name]:
            # The old process must free its memory and its share of a GPU first.
            self._running.pop(before).end()
        local = LocalProcesses(token=self._token, gpus_per_collector=self.gpus_per_collector, first=self._first)
        try:
            process = local.launch(collector, address)
        except (InvalidOption, OSError) as error:
            # Only this machine failed. The driver and the other collectors continue.
            self._link.send_message(host_messages.Ended(collector, f"its process could not begin: {describe(error)}"))
            return
        self._running[collector] = process
        threading.Thread(target=self._watch, args=(collector, process), daemon=True).start()

    def kill(self, collector: CollectorId) -> None:
        process = self._running.get(collector)
        if process is not None:
            process.kill()

    def end(self) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.end()

    def _watch(self, collector: CollectorId, process: LocalProcess) -> None:
        ended = process.wait_for_end()
        self._link.send_message(host_messages.Ended(collector, ended.cause))
