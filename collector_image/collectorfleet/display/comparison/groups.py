"""Which runs repeat each other: their configurations differ by seeds alone. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectorfleet.display.comparison.runs import Run

NOT_SET: Final = "not set"
_MOST_NAMED: Final = 3
_LONGEST: Final = 40  # characters of a value in a name
_SEED: Final = re.compile(r"seed|.*_seed|.*Seed")
_SEED_ARGUMENT: Final = re.compile(r"--?(?:\w+[-_])?seed(?:=(.*))?")

Leaves = Mapping[str, str]


@dataclass(frozen=True)
class Group:
    """``differences`` has a value for each path in which groups differ; empty if there is one group only."""

    name: str
    runs: Sequence[Run]
    differences: Leaves = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of runs."""
        return len(self.runs)


def grouped(runs: Sequence[Run]) -> Sequence[Group]:
    """Return the groups in the order of their first runs, each named by what differs from the other groups.

    A run whose configuration is unknown is a group of its own.
    """
    found: dict[tuple[tuple[str, str], ...] | str, list[Run]] = {}
    for run in runs:
        key = run.name if run.configuration is None else tuple(sorted(leaves(run.configuration).items()))
        found.setdefault(key, []).append(run)
    configurations = [dict(key) for key in found if not isinstance(key, str)]
    paths = sorted({path for one in configurations for path in one if _differs(path, configurations)})
    short = _short_names(paths)
    groups = []
    for key, members in found.items():
        if isinstance(key, str):
            groups.append(Group(f"{key} (configuration unknown)", members))
            continue
        values = {path: dict(key).get(path, NOT_SET) for path in paths}
        groups.append(Group(_name(values, short) or _only_name(members), members, values))
    return groups


def leaves(configuration: Mapping[str, Any]) -> Leaves:
    """Return each value as JSON text by its path, without seeds."""
    return {path: text for path, text, is_seed in _walk(configuration) if not is_seed}


def seeds(configuration: Mapping[str, Any] | None) -> str:
    """Return the seeds of a run, such as ``3``; empty if its configuration names none."""
    found = [text for _, text, is_seed in _walk(configuration or {}) if is_seed]
    return ", ".join(dict.fromkeys(found))


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield path, JSON text, and whether the value is a seed."""
    if path == "driver.args" and isinstance(value, list):
        others, found = _split_arguments([str(one) for one in value])
        yield from ((path, seed, True) for seed in found)
        yield path, json.dumps(others), False
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _walk(one, f"{path}.{key}" if path else str(key))
    else:
        is_seed = _SEED.fullmatch(path.rpartition(".")[2]) is not None
        yield path, value if isinstance(value, str) else json.dumps(value, sort_keys=True), is_seed


def _split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of a script without its seeds, and the seeds of ``--seed=3`` and ``--seed 3``."""
    others: list[str] = []
    found: list[str] = []
    rest = iter(arguments)
    for one in rest:
        matched = _SEED_ARGUMENT.fullmatch(one)
        if matched is None:
            others.append(one)
        else:
            found.append(next(rest, "") if matched[1] is None else matched[1])
    return others, found


def _differs(path: str, configurations: Sequence[Leaves]) -> bool:
    return len({one.get(path, NOT_SET) for one in configurations}) > 1


def _short_names(paths: Sequence[str]) -> Mapping[str, str]:
    """Return the shortest end of each path that no other path ends with: ``lr`` for ``driver.train.kwargs.lr``."""

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
    """The name of the only group: that of its fleet."""
    return members[0].timeline.fleet
