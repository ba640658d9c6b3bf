"""Group runs whose configurations differ only in seeds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from collectorfleet.display.comparison.chart import letter
from collectorfleet.display.comparison.leaves import NOT_SET, Leaves, leaves
from collectorfleet.display.comparison.runs import Run

_MOST_NAMED: Final = 3
_LONGEST: Final = 40  # characters of a value in a name


@dataclass(frozen=True)
class Group:
    """A group of runs whose configurations differ only in seeds.

    The configurations of the groups differ at some paths. ``differences`` has this group's value at each of these
    paths. If this group's configuration is unknown, ``differences`` is empty.
    """

    name: str
    runs: Sequence[Run]
    differences: Leaves = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of runs."""
        return len(self.runs)


def grouped(runs: Sequence[Run]) -> Sequence[Group]:
    """Return the groups in the order of their first runs. Each group is named after its differences from other groups.

    A run is a separate group if its configuration is unknown or was changed.
    """
    found: dict[object, list[Run]] = {}
    for run in runs:
        known = changed(run)
        key = tuple(sorted(known[0].items())) if len(known) == 1 else run.name
        found.setdefault(key, []).append(run)
    configurations = [changed(members[0]) for members in found.values()]
    every = [one for known in configurations for one in known]
    paths = sorted({path for one in every for path in one if _differs(path, every)})
    short = _short_names(paths)
    groups = []
    for members, known in zip(found.values(), configurations, strict=True):
        if not known:
            groups.append(Group(f"{members[0].name} (configuration unknown)", members))
            continue
        values = {path: _in_turn(path, known) for path in paths}
        groups.append(Group(_name(values, short) or _only_name(members), members, values))
    return _with_names_of_their_own(groups)


def changed(run: Run) -> Sequence[Leaves]:
    """Return the configurations of a run in order, without seeds.

    An unchanged configuration is returned once. If the configuration is unknown, the result is empty.
    """
    if run.configuration is None:
        return []
    known = [leaves(one) for one in (*(one.configuration for one in run.timeline.earlier), run.configuration)]
    return [one for one, _ in groupby(known)]


def _in_turn(path: str, known: Sequence[Leaves]) -> str:
    """Return the value at ``path``. If it was changed, return all values in order, such as ``0.1, then 0.001``."""
    return ", then ".join(value for value, _ in groupby(one.get(path, NOT_SET) for one in known))


def _with_names_of_their_own(groups: Sequence[Group]) -> Sequence[Group]:
    """Add the group's letter to each name that several groups have. Names can be equal, because long names are cut."""
    names = [group.name for group in groups]
    return [
        replace(group, name=f"{group.name} ({letter(place)})") if names.count(group.name) > 1 else group
        for place, group in enumerate(groups)
    ]


def _differs(path: str, configurations: Sequence[Leaves]) -> bool:
    return len({one.get(path, NOT_SET) for one in configurations}) > 1


def _short_names(paths: Sequence[str]) -> Mapping[str, str]:
    """Return the shortest suffix of each path that no other path has: ``lr`` for ``driver.train.kwargs.lr``."""

    def end(path: str, parts: int) -> str:
        return ".".join(path.split(".")[-parts:])

    found = {}
    for path in paths:
        lengths = range(1, len(path.split(".")) + 1)
        others = [other for other in paths if other != path]
        found[path] = next((end(path, n) for n in lengths if all(end(o, n) != end(path, n) for o in others)), path)
    return found


def _name(values: Leaves, short: Mapping[str, str]) -> str:
    named = [f"{short[path]}={_cut(value)}" for path, value in list(values.items())[:_MOST_NAMED]]
    more = len(values) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more > 0 else [])])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _only_name(members: Sequence[Run]) -> str:
    """Return the name of the only group: the name of its fleet."""
    return members[0].timeline.fleet
