"""One row of several rounds: numbers with their spread, words as most rounds have them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.common import tables

Cell = str | float | None
_AFTER = re.compile(r"after ([\d.]+) s")


def merged(rounds: Sequence[Sequence[Cell]]) -> list[str]:
    """The cells of rounds that were measured alike, column by column."""
    return [_column(column) for column in zip(*rounds, strict=True)]


def _column(values: Sequence[Cell]) -> str:
    numbers = [value for value in values if isinstance(value, int | float)]
    if numbers:
        missing = len(values) - len(numbers)
        return tables.spread(numbers) + (f", {missing} of {len(values)} without" if missing else "")
    return _words([value for value in values if isinstance(value, str)])


def _words(texts: Sequence[str]) -> str:
    """Equal but for addresses and seconds counts as equal; how often, where rounds differ."""
    alike: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        alike[_without_what_varies(text)].append(text)
    commonest = sorted(alike.values(), key=len, reverse=True)
    if len(commonest) == 1:
        return _one(commonest[0])
    return "; ".join(f"{_one(group)} ({len(group)} of {len(texts)})" for group in commonest)


def _without_what_varies(text: str) -> str:
    # Seconds, identifiers of Ray, ports, and which of the collectors it was. Counts are what is measured.
    return re.sub(r"after [\d.]+ s|\b[0-9a-f]{16,}\b|:\d{4,}|\bc\d\b", "*", text)


def _one(group: Sequence[str]) -> str:
    seconds = [float(match[1]) for text in group if (match := _AFTER.search(text))]
    return _AFTER.sub(f"after {tables.spread(seconds)} s", group[0]) if seconds else group[0]
