"""What the environments of all collectors have seen, as if it had been one environment. Knows no clock and no torch.

It begins with what the first collector that is built reports, or with what an earlier fleet had; after that each answer
brings what was seen for it, in the order in which answers come. An answer that is lost, or of a collector that is
retired, never comes, and what it would have brought counts nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collectorfleet.normalization import Normalization, Running, merged


class FleetNormalization:
    """``changes`` counts how often it became another one; ``reported_by`` is the collector that was built first."""

    def __init__(self) -> None:
        self.now: dict[str, Running] = {}
        self.changes = 0
        self.reported_by: str | None = None

    def restored(self, saved: Normalization) -> None:
        """Go on with what an earlier fleet had. Raises ValueError if environments that are built already differ."""
        if self.reported_by and saved:
            _check(saved, self.now, None)
        self.now = dict(saved or self.now)
        self.changes += 1

    def reported(self, collector: str, found: Normalization) -> list[str]:
        """A collector is built, and this is what its environment begins with: the first one's is everybody's.

        Returns the names of what an earlier fleet had and this one has not.

        Raises:
            ValueError: environments differ; says in what.
        """
        dropped = [] if self.reported_by else [name for name in self.now if name not in found]
        if not self.reported_by:
            self.now = {name: self.now.get(name, one) for name, one in found.items()}
            self.changes += 1
        _check(self.now, found, self.reported_by)
        self.reported_by = self.reported_by or collector
        return dropped

    def merge(self, contributions: Normalization) -> None:
        """An answer came, and with it what was seen for it."""
        self.now = merged(self.now, contributions)
        self.changes += 1


def _check(fleet: Mapping[str, Running], found: Normalization, first: str | None) -> None:
    whose = f"{first}'s" if first else "the saved state's"
    remedy = _ONE_FOR_ALL if first else _OF_THE_STATE
    for name in sorted(fleet.keys() ^ found.keys()):
        raise ValueError(f"{name}: only one of this environment and {whose} has it; {remedy}")
    for name, one in found.items():
        mine, theirs = _shape(one), _shape(fleet[name])
        if mine != theirs:
            raise ValueError(f"{name}: {mine} here, and {theirs} in {whose}; {remedy}")


_ONE_FOR_ALL: Final = "normalization is one for all collectors, so their environments need the same transforms"
_OF_THE_STATE: Final = "give the environment the transforms back that it had then, or begin without that state"


def _shape(one: Running) -> str:
    sums = ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(one.sums.items()))
    return f"decay {one.decay:g}, {sums}"
