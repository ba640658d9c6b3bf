"""A host of collectors: it looks for the driver, however late that comes and wherever it moves, and does as it says.

Each collector is a process of its own, so that one that hangs can be ended. With the connection to the driver all of
them end; the host goes on, and waits for the next driver.
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
    """The driver has no use for this host."""


@dataclass(frozen=True)
class Driver:
    """Where the driver is and what proves that it is the one; both asked anew whenever it is looked for.

    They raise OSError or ValueError as long as there is none.
    """

    address: Callable[[], Address]
    token: Callable[[], bytes]


class CollectorHost:
    """The host of ``rank``, with ``collectors`` of them; ``pod`` is how the driver calls it."""

    def __init__(self, driver: Driver, rank: int, collectors: int, pod: str) -> None:
        self._driver = driver
        self._came = host_messages.Came(rank, collectors, pod)
        # Collectors say it too, for the status.
        os.environ[ENV_POD] = pod
        LocalProcesses.prepare()

    def serve(self) -> None:
        """Serve one driver after another; ends only by an exception, HostRefused or that of a signal."""
        while True:
            link, token = self._find_driver()
            log.info("the driver is connected")
            processes = _Processes(link, token, self._came.rank * self._came.collectors)
            try:
                self._obey(link, processes)
            except (EOFError, OSError) as error:
                log.info("the driver is gone (%s); waiting for the next", error)
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
                link.send_message(self._came)
                return link, token

    def _obey(self, link: Link, processes: _Processes) -> None:
        while True:
            match link.receive_message():
                case host_messages.Welcome(gpus_per_collector):
                    processes.gpus_per_collector = gpus_per_collector
                case host_messages.Launch(collector, address):
                    processes.launch(collector, address)
                case host_messages.Kill(collector):
                    processes.kill(collector)
                case host_messages.Refused(why):
                    raise HostRefused(f"the driver refuses {self._came.pod}, rank {self._came.rank}: {why}")


class _Processes:
    """Those of one driver's collectors."""

    def __init__(self, link: Link, token: bytes, first: int) -> None:
        self.gpus_per_collector = 0.0
        self._link = link
        self._token = token
        self._first = first
        self._running: dict[CollectorId, LocalProcess] = {}

    def launch(self, collector: CollectorId, address: Address) -> None:
        for before in [one for one in self._running if one.name == collector.name]:
            # Its memory and its share of a GPU are needed.
            self._running.pop(before).end()
        local = LocalProcesses(token=self._token, gpus_per_collector=self.gpus_per_collector, first=self._first)
        try:
            process = local.launch(collector, address)
        except (InvalidOption, OSError) as error:
            # Of this machine: the driver is there, and the other collectors go on.
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
        ended = process.how_it_ended()
        self._link.send_message(host_messages.Ended(collector, ended.cause))
