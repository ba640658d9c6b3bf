"""Parcels: copies of snapshots. A collector gets a parcel once, even if several versions and requests use it."""

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
    """A parcel without its arrays."""

    bare: Snapshot
    layout: Layout

    def complete(self, packed: Tensor) -> Snapshot:
        """Return the snapshot with its arrays as views of ``packed``."""
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
    """Return the parcels to send for a version: its weights, and its normalization if there is one."""
    also = weights.normalization
    return [weights.stored.handle, *([] if also is None else [also.handle])]


def offered(weights: Weights) -> Offered:
    """Return the message that offers a version to a collector."""
    numbers = [parcel.number for parcel in parcels(weights)]
    return Offered(weights.policy, weights.version, numbers[0], numbers[1] if len(numbers) > 1 else None)
