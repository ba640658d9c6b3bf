"""The driver's side of collectors that are started on other machines with ``collectorfleet collect``.

A host is a process that runs several collectors. For example, with four collectors per host, the host of rank 2 runs
``c8`` to ``c11``. A host may connect at any time. The host sends its rank. Then it starts and ends processes as the
driver's messages request. Messages wait until the host connects. If the connection is lost, all collectors of the host
are lost, and none of these losses counts as a restart.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Annotated, Final

from collectorfleet import option_types
from collectorfleet.errors import InvalidOption
from collectorfleet.messages import CollectorId, Fault
from collectorfleet.option_ranges import NotEmpty, Positive, Range
from collectorfleet.transport.distributed import host_messages
from collectorfleet.transport.distributed.link import Address, Link, Listener
from collectorfleet.transport.processes.launched import Ended
from collectorfleet_api.counts import counted
from collectorfleet_api.packing.pods import gpu_units
from collectorfleet_api.packing.refusal import Refusal

log = logging.getLogger("collectorfleet")

SHORTEST_TOKEN_BYTES: Final = 16
_LARGEST_PORT: Final = 65_535
_REFUSAL_SECONDS: Final = 10.0


@dataclass(frozen=True, eq=False)
class HostedCollector:
    """A collector that runs on a host, or starts when its host connects."""

    id: CollectorId
    address: Address
    hosts: CollectorHosts = field(repr=False)
    ended: Future[Ended] = field(default_factory=Future, repr=False)

    def kill(self) -> None:
        self.hosts.kill(self)

    def wait_for_end(self) -> Ended:
        return self.ended.result()


@dataclass(frozen=True, eq=False)
class _Host:
    link: Link
    hello: host_messages.HostHello


class CollectorHosts:
    """The collectors of one FleetCollector, in processes that ``collectorfleet collect`` starts elsewhere.

    The object listens from its construction until ``shutdown()`` of its FleetCollector. Hosts then wait for the next
    driver.

    Args:
        host: the address of this machine that hosts connect to. gloo needs one address, not a wildcard.
        port: the port. 0 selects a free port, see :attr:`port`.
        token: the shared secret, of 16 bytes or more. Messages of a peer without the token are not read.

    Keyword Args:
        collectors_per_host: the number of collectors of each host.
        gpus_per_collector: the number of GPUs of each collector: whole GPUs, or a share of one GPU. The collector
            gets them from the GPUs that are visible to the host.

    Raises:
        InvalidOption: the token is too short, the address cannot be used, or a number is invalid.
    """

    @option_types.checked("CollectorHosts.")
    def __init__(
        self,
        host: Annotated[str, NotEmpty("127.0.0.1")],
        port: Annotated[int, Range(least=0, most=_LARGEST_PORT)],
        token: bytes,
        *,
        collectors_per_host: Positive = 1,
        gpus_per_collector: Annotated[float, Range(least=0, most=64)] = 0.0,
    ) -> None:
        if len(token) < SHORTEST_TOKEN_BYTES:
            raise InvalidOption(
                f"token: {len(token)} bytes are too few to be secret; use {SHORTEST_TOKEN_BYTES} or more, "
                "such as those of `openssl rand -hex 32`"
            )
        share = gpu_units(gpus_per_collector, "gpus_per_collector")
        if isinstance(share, Refusal):
            raise InvalidOption(f"{share.field}: {share.message}")
        self.host = host
        self.token = token
        self.collectors_per_host = collectors_per_host
        self.gpus_per_collector = gpus_per_collector
        try:
            self._listener = Listener((host, port), token)
        except OSError as error:
            raise InvalidOption(f"host and port: cannot listen at {host}:{port}: {error}") from error
        self.port = self._listener.address[1]
        self._lock = threading.Lock()
        self._hosts: dict[int, _Host] = {}
        self._collectors: dict[CollectorId, HostedCollector] = {}
        self._claimed = self._closed = False
        self._listener.serve(self._handle_peer)

    def claim(self) -> None:
        with self._lock:
            if self._closed:
                raise InvalidOption(
                    "launcher: these CollectorHosts ended with their FleetCollector; create new CollectorHosts, "
                    f"which may use port {self.port} again"
                )
            if self._claimed:
                raise InvalidOption(
                    "launcher: another FleetCollector uses these CollectorHosts; create new CollectorHosts at a port "
                    f"other than {self.port}"
                )
            self._claimed = True

    def launch(self, collector: CollectorId, address: Address) -> HostedCollector:
        launched = HostedCollector(collector, address, self)
        with self._lock:
            self._collectors[collector] = launched
            host = self._hosts.get(self._rank(collector))
            if host is not None:
                host.link.send_message(host_messages.Launch(collector, address))
        return launched

    def kill(self, launched: HostedCollector) -> None:
        """Kill the collector's process. Does nothing if the process has ended."""
        with self._lock:
            if self._collectors.pop(launched.id, None) is None:
                return
            host = self._hosts.get(self._rank(launched.id))
            if host is not None:
                host.link.send_message(host_messages.Kill(launched.id))
        _end([launched], Ended("it was stopped"))

    def present(self) -> list[str]:
        """Return the names of the connected hosts, by rank. In a cluster, the name of a host is its pod's name."""
        with self._lock:
            return [host.hello.pod for _, host in sorted(self._hosts.items())]

    def close(self) -> None:
        """Disconnect all hosts, which then wait for the next driver."""
        self._listener.close()
        with self._lock:
            # Also disconnect a host that connects at this moment. Otherwise this host would not look for the next
            # driver.
            self._closed = True
            for host in self._hosts.values():
                host.link.close()

    def _rank(self, collector: CollectorId) -> int:
        return collector.index // self.collectors_per_host

    def _handle_peer(self, link: Link, hello: host_messages.HostHello) -> None:
        if hello.collectors != self.collectors_per_host:
            link.send_message(
                host_messages.Refused(
                    f"the host runs {counted(hello.collectors, 'collector')}, but the driver expects "
                    f"{self.collectors_per_host}; start the host with --collectors {self.collectors_per_host}"
                )
            )
            return
        host = _Host(link, hello)
        if not self._welcome(host):
            return
        try:
            while True:
                match link.receive_message():
                    case host_messages.Ended(collector, cause):
                        self._ended(collector, Ended(cause))
        except (EOFError, OSError):
            self._lost(host)

    def _welcome(self, host: _Host) -> bool:
        """Register the host and start its collectors. Return False after :meth:`close`."""
        rank = host.hello.rank
        with self._lock:
            if self._closed:
                return False
            before = self._hosts.get(rank)
            lost = [] if before is None else self._taken_from(rank)
            self._hosts[rank] = host
            host.link.send_message(host_messages.Welcome(self.gpus_per_collector))
            for launched in self._of(rank):
                host.link.send_message(host_messages.Launch(launched.id, launched.address))
        if before is not None:
            _end(lost, Ended(f"{before.hello.pod} is gone", Fault.NODE_LOST))
            # The earlier host usually does not exist any more. If the earlier host still runs, it must not reconnect.
            # Otherwise both hosts would replace each other forever. So the earlier host gets some time to read the
            # message.
            before.link.send_message(host_messages.Refused(f"{host.hello.pod} joined later as rank {rank}"))
            before.link.close(flush_seconds=_REFUSAL_SECONDS)
        log.info("%s joined with rank %d", host.hello.pod, rank)
        return True

    def _lost(self, host: _Host) -> None:
        rank = host.hello.rank
        with self._lock:
            if self._hosts.get(rank) is not host:
                return
            del self._hosts[rank]
            lost = self._taken_from(rank)
        log.info("%s, which had rank %d, left", host.hello.pod, rank)
        _end(lost, Ended(f"{host.hello.pod} is gone", Fault.NODE_LOST))

    def _ended(self, collector: CollectorId, ended: Ended) -> None:
        with self._lock:
            launched = self._collectors.pop(collector, None)
        if launched is not None:
            _end([launched], ended)

    def _of(self, rank: int) -> list[HostedCollector]:
        """Return the collectors of a host. The caller holds the lock."""
        return [one for one in self._collectors.values() if self._rank(one.id) == rank]

    def _taken_from(self, rank: int) -> list[HostedCollector]:
        """Remove the collectors of a host, and return them. The caller holds the lock."""
        taken = self._of(rank)
        for launched in taken:
            del self._collectors[launched.id]
        return taken


def _end(collectors: list[HostedCollector], ended: Ended) -> None:
    for launched in collectors:
        launched.ended.set_result(ended)
