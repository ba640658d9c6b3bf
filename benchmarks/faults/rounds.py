"""Merges the cells of several rounds into one row: numbers with their spread, and texts with their counts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.common import tables

Cell = str | float | None
_AFTER = re.compile(r"after ([\d.]+) s")


def merged(rounds: Sequence[Sequence[Cell]]) -> list[str]:
    """Return one text per column. Each round has one cell per column."""
    return [_column(column) for column in zip(*rounds, strict=True)]


def _column(values: Sequence[Cell]) -> str:
    numbers = [value for value in values if isinstance(value, int | float)]
    if numbers:
        missing = len(values) - len(numbers)
        return tables.spread(numbers) + (f", {missing} of {len(values)} without" if missing else "")
    return _words([value for value in values if isinstance(value, str)])


def _words(texts: Sequence[str]) -> str:
    """Return the different texts, the most frequent first, each with its count if there are several.

    Texts that differ only in seconds, identifiers, ports or a collector's name count as equal.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        alike[_without_what_varies(text)].append(text)
    commonest = sorted(alike.values(), key=len, reverse=True)
    if len(commonest) == 1:
        return _one(commonest[0])
    return "; ".join(f"{_one(group)} ({len(group)} of {len(texts)})" for group in commonest)


def _without_what_varies(text: str) -> str:
    # Replace seconds, identifiers of Ray, ports and names of collectors. Other numbers are results and stay.
    return re.sub(r"after [\d.]+ s|\b[0-9a-f]{16,}\b|:\d{4,}|\bc\d\b", "*", text)


def _one(group: Sequence[str]) -> str:
    seconds = [float(match[1]) for text in group if (match := _AFTER.search(text))]
    return _AFTER.sub(f"after {tables.spread(seconds)} s", group[0]) if seconds else group[0]
