"""What the driver gives collectors once, however many versions and requests name it: a snapshot of its own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Final

from torch import Tensor

from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.messages import Weights
from collectorfleet.transport.processes.control import Offered
from collectorfleet.transport.processes.packed import Layout, pack

_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Header:
    """All of a parcel but its arrays, which are packed."""

    bare: Snapshot
    layout: Layout

    def complete(self, packed: Tensor) -> Snapshot:
        """The snapshot, in the memory of ``packed``."""
        return replace(self.bare, arrays=self.layout.views(packed))


@dataclass(frozen=True, eq=False)
class Parcel:
    """A copy of a snapshot in ``packed``, with a number that no other parcel of this process has."""

    header: Header = field(repr=False)
    packed: Tensor = field(repr=False)
    number: int = field(default_factory=lambda: next(_NUMBERS))

    @classmethod
    def of(cls, snapshot: Snapshot) -> Parcel:
        layout, packed = pack(snapshot.arrays)
        return cls(Header(replace(snapshot, arrays=[]), layout), packed)

    @property
    def snapshot(self) -> Snapshot:
        return self.header.complete(self.packed)


def parcels(weights: Weights) -> list[Parcel]:
    """Those of a version: its weights, and its normalization if it has one."""
    also = weights.normalization
    return [weights.stored.handle, *([] if also is None else [also.handle])]


def offered(weights: Weights) -> Offered:
    """How a collector hears of a version."""
    numbers = [parcel.number for parcel in parcels(weights)]
    return Offered(weights.policy, weights.version, numbers[0], numbers[1] if len(numbers) > 1 else None)
