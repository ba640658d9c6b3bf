"""What the driver sends to members once, however many versions and requests name it: a snapshot of its own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.transport.distributed.control import Take

_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Parcel:
    """A copy of a snapshot, with a number that no other parcel of this process has."""

    snapshot: Snapshot = field(repr=False)
    number: int = field(default_factory=lambda: next(_NUMBERS))

    @classmethod
    def of(cls, snapshot: Snapshot) -> Parcel:
        copied = [np.array(array) for array in snapshot.arrays]
        return cls(Snapshot(snapshot.entries, copied, snapshot.whole, snapshot.policy_version))

    def announced(self, epoch: int, *, broadcast: bool) -> Take:
        """How members hear that it comes."""
        taken = self.snapshot
        sizes = tuple(array.nbytes for array in taken.arrays)
        return Take(epoch, self.number, taken.entries, sizes, taken.whole, taken.policy_version, broadcast)
