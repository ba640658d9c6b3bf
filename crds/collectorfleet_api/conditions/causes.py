"""Formats the errors of collectors that are not ready. Equal errors are shown once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from collectorfleet_api.v1alpha1.collectors_status import CollectorState, CollectorStatus

LONGEST_CAUSE: Final = 1000
_MOST_CAUSES: Final = 3


def most_frequent_errors(collectors: Sequence[CollectorStatus]) -> str:
    """Return the errors of collectors that are not ready, the most frequent first. Without errors, the text is empty.

    For example: ``ModuleNotFoundError: No module named 'my_envs' (16 of 16 collectors: c0-c15)``
    """
    names_by_error: dict[str, list[str]] = defaultdict(list)
    for collector in collectors:
        if collector.last_error and collector.state is not CollectorState.READY:
            names_by_error[collector.last_error].append(collector.name)
    commonest = sorted(names_by_error.items(), key=lambda item: -len(item[1]))[:_MOST_CAUSES]
    return "; ".join(
        f"{error[:LONGEST_CAUSE]} ({len(names)} of {len(collectors)} collectors: {name_ranges(names)})"
        for error, names in commonest
    )


def name_ranges(names: Iterable[str]) -> str:
    """Format ``c0, c1, c2, c7`` as ``c0-c2, c7``. Names of another form come first, unchanged."""
    numbers: set[int] = set()
    other: list[str] = []
    for name in names:
        match = re.fullmatch(r"c(\d+)", name)
        if match:
            numbers.add(int(match[1]))
        else:
            other.append(name)
    ranges = (f"c{first}" if first == last else f"c{first}-c{last}" for first, last in _runs(sorted(numbers)))
    return ", ".join([*sorted(other), *ranges])


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and the last number of each range of successive numbers."""
    # The difference between a number and its index is constant within a range, and grows with each gap.
    runs = (list(run) for _, run in groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0]))
    return [(run[0][1], run[-1][1]) for run in runs]
