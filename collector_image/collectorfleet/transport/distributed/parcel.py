"""What the driver sends to members once, however many versions and requests name it: a snapshot of its own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Final

from torch import Tensor

from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.transport.distributed.control import Take
from collectorfleet.transport.packed import Layout, pack

_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Parcel:
    """A copy of a snapshot in ``packed``, with a number that no other parcel of this process has."""

    snapshot: Snapshot = field(repr=False)
    layout: Layout = field(repr=False)
    packed: Tensor = field(repr=False)
    number: int = field(default_factory=lambda: next(_NUMBERS))

    @classmethod
    def of(cls, snapshot: Snapshot) -> Parcel:
        layout, packed = pack(snapshot.arrays)
        return cls(replace(snapshot, arrays=layout.views(packed)), layout, packed)

    def announced(self, epoch: int, *, broadcast: bool) -> Take:
        """How members hear that it comes."""
        return Take(epoch, self.number, replace(self.snapshot, arrays=[]), self.layout, broadcast)
