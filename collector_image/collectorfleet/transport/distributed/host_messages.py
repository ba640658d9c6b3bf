"""What the driver and a host of collectors tell each other. No torch."""

from __future__ import annotations

from dataclasses import dataclass

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed.link import Address


@dataclass(frozen=True, slots=True)
class Came:
    """The first that a host says: the ``rank`` that it has among them, and how many collectors it holds."""

    rank: int
    collectors: int
    pod: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the driver says then."""

    gpus_per_collector: float


@dataclass(frozen=True, slots=True)
class Refused:
    """The host is of no use to this driver, and is not to come back."""

    why: str


@dataclass(frozen=True, slots=True)
class Launch:
    """Begin the process of a collector, which finds the driver at ``address``."""

    collector: CollectorId
    address: Address


@dataclass(frozen=True, slots=True)
class Kill:
    collector: CollectorId


@dataclass(frozen=True, slots=True)
class Ended:
    """Of a host: the process of a collector ended, and nobody had asked for it."""

    collector: CollectorId
    cause: str
