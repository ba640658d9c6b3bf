"""Merge the observation statistics of all collectors into the statistics of the fleet. No clock, no torch.

The initial sums are the sums that the first built collector reports, or the sums of an earlier fleet. After that, the
contributions of all answers are added, in the order of arrival. If an answer is lost, or its collector is retired
before the answer arrives, the contribution of the answer is lost, too.
"""

from __future__ import annotations

from typing import Final

from collectorfleet.normalization import Normalization, RunningStatistics, merged


class FleetNormalization:
    """The present normalization. ``changes`` counts its changes.

    ``reported_by`` names the collector whose environment has reported its statistics first.
    """

    def __init__(self) -> None:
        self.now: dict[str, RunningStatistics] = {}
        self.changes = 0
        self.reported_by: str | None = None

    def restored(self, saved: Normalization) -> list[str]:
        """Continue from the statistics of an earlier fleet. Statistics that the environments lack are dropped.

        If a collector is already built, returns the dropped names. Otherwise the names are not known yet, and
        :meth:`reported` returns them later.

        Raises:
            ValueError: the shape or the decay of some statistics differs from the environments' statistics.
        """
        self.changes += 1
        if not self.reported_by:
            self.now = dict(saved)
            return []
        return self._go_on_from(saved, self.now)

    def reported(self, collector: str, found: Normalization) -> list[str]:
        """Record the initial normalization of a built collector.

        The statistics of the first built collector define the normalization of the fleet. Returns the names of those
        statistics that an earlier fleet had and this fleet lacks.

        Raises:
            ValueError: the statistics of two environments differ. The message names the difference.
        """
        if self.reported_by:
            self._check(found)
            return []
        self.reported_by = collector
        self.changes += 1
        return self._go_on_from(self.now, found)

    def _go_on_from(self, saved: Normalization, found: Normalization) -> list[str]:
        for name in saved.keys() & found.keys():
            _compare(name, found[name], saved[name], "the saved state", _OF_THE_STATE)
        self.now = {name: saved.get(name, one) for name, one in found.items()}
        return sorted(saved.keys() - found.keys())

    def _check(self, found: Normalization) -> None:
        first = str(self.reported_by)
        for name in sorted(self.now.keys() ^ found.keys()):
            having, lacking = "this environment", f"the environment of {first}"
            if name not in found:
                having, lacking = lacking, having
            raise ValueError(f"{name}: {having} has these statistics, but {lacking} does not; {_ONE_FOR_ALL}")
        for name, one in found.items():
            _compare(name, one, self.now[name], first, _ONE_FOR_ALL)

    def merge(self, contributions: Normalization) -> None:
        """Add the contributions in an answer to the present sums."""
        self.now = merged(self.now, contributions)
        self.changes += 1


_ONE_FOR_ALL: Final = "give all environments the same transforms, because collectors share one normalization"
_OF_THE_STATE: Final = (
    "give the environment the transforms that it had when the state was saved, or start without the state"
)


def _compare(name: str, here: RunningStatistics, there: RunningStatistics, whose: str, remedy: str) -> None:
    mine, theirs = _shape(here), _shape(there)
    if mine != theirs:
        raise ValueError(f"{name}: this environment has {mine}, but {whose} has {theirs}; {remedy}")


def _shape(one: RunningStatistics) -> str:
    sums = ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(one.sums.items()))
    return f"decay {one.decay:g}, {sums}"
