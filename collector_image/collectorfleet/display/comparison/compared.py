"""Compute the statistics of all groups, by source, axis and statistic. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collectorfleet.display.comparison.chart import MOST_GROUPS, Line
from collectorfleet.display.comparison.groups import Group, grouped
from collectorfleet.display.comparison.runs import Axis, Curve, Run, Source, check, curve
from collectorfleet.display.comparison.statistics import STATISTICS, Estimate, along, at, common
from collectorfleet.errors import InvalidOption


@dataclass(frozen=True)
class Measured:
    """One line of a chart."""

    axis: Axis
    statistic: str
    line: Line


Row = tuple[int, Group, Estimate, Estimate]  # the group's place, the group, its mean, its interquartile mean


class Compared:
    """The groups of some runs, with their statistics.

    Raises InvalidOption if a run has no returns, if a timeline is damaged, or if there are more than ``MOST_GROUPS``
    groups.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        for run in runs:
            check(run)
        self.groups = grouped(runs)
        if len(self.groups) > MOST_GROUPS:
            raise InvalidOption(
                f"these {len(runs)} runs have {len(self.groups)} configurations, and a page shows at most "
                f"{MOST_GROUPS}; name fewer runs"
            )
        self._measured = {source: list(self._of(source)) for source in Source}

    def has(self, source: Source) -> bool:
        """Return whether any run has this source."""
        return any(curve(run, source, Axis.FRAMES) for group in self.groups for run in group.runs)

    def measured(self, source: Source) -> Sequence[Measured]:
        """Return the lines of all groups whose runs all have this source."""
        return self._measured[source]

    def left_out(self, source: Source) -> Sequence[tuple[int, str]]:
        """Return each group that has no line over frames: the group's place and the reason."""
        reasons = ((place, self._reason(group, source)) for place, group in enumerate(self.groups))
        return [(place, reason) for place, reason in reasons if reason]

    def at_end(self, source: Source) -> tuple[float, Sequence[Row]] | None:
        """Return the largest number of frames that all drawn groups reached, and each group's mean and IQM there.

        Return None if no group is drawn, or if no number of frames is in the range of all drawn groups.
        """
        known = [
            (place, group, curves) for place, group in enumerate(self.groups) if (curves := _curves(group, source))
        ]
        drawn = [one for one in known if common(one[2])]
        part = common([one for _, _, curves in drawn for one in curves]) if drawn else None
        if part is None:
            return None
        mean, iqm = STATISTICS.values()
        return part[1], [(n, group, at(curves, part[1], mean), at(curves, part[1], iqm)) for n, group, curves in drawn]

    def _of(self, source: Source) -> Iterator[Measured]:
        for place, group in enumerate(self.groups):
            for axis in Axis:
                curves = _curves(group, source, axis)
                for name, statistic in STATISTICS.items() if curves else ():
                    if found := along(curves, statistic):
                        line = Line(place, found.xs, found.values, found.low, found.high)
                        yield Measured(axis, name, line)

    def _reason(self, group: Group, source: Source) -> str:
        """Return why the group has no line over frames. Return an empty string if the group has a line."""
        without = [run.name for run in group.runs if curve(run, source, Axis.FRAMES) is None]
        if without:
            return f"{', '.join(without)} without {_NAMES[source]}"
        if common(_curves(group, source)) is None:
            return "its runs have no frames in common"
        return ""


_NAMES = {Source.EVALUATION: "evaluations", Source.TRAINING: "returns of training"}


def _curves(group: Group, source: Source, axis: Axis = Axis.FRAMES) -> list[Curve]:
    """Return a curve of each run. Return an empty list if a run has no curve."""
    found = [curve(run, source, axis) for run in group.runs]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []
