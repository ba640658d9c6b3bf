"""Messages of the driver and a host of collectors. This module does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed.link import Address


@dataclass(frozen=True, slots=True)
class HostHello:
    """A host's first message: its ``rank`` among the hosts, and the number of its collectors."""

    rank: int
    collectors: int
    pod: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """The driver's answer to :class:`HostHello`."""

    gpus_per_collector: float


@dataclass(frozen=True, slots=True)
class Refused:
    """The driver rejects the host, which must not connect again."""

    why: str


@dataclass(frozen=True, slots=True)
class Launch:
    """Start the process of a collector, which connects to the driver at ``address``."""

    collector: CollectorId
    address: Address


@dataclass(frozen=True, slots=True)
class Kill:
    collector: CollectorId


@dataclass(frozen=True, slots=True)
class Ended:
    """A host reports that a collector's process ended without a :class:`Kill`."""

    collector: CollectorId
    cause: str
