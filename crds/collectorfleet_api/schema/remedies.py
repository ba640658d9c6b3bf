"""Writes the tables of docs/conditions.md from the remedies: ``python -m collectorfleet_api.schema.remedies PAGE``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from collectorfleet_api.conditions.remedies import CLAIM_REMEDY, KUBERNETES_REMEDIES, REMEDIES

_ROW: Final = "| `"


def with_remedies(page: str) -> str:
    """Return the page with new rows in the tables of its two sections about reasons."""
    rows = {
        "Reasons": (_row(f"`{reason}`", text) for reason, text in sorted(REMEDIES.items())),
        "Kubernetes' own reasons": (
            *(_row(", ".join(f"`{one}`" for one in reasons), text) for reasons, text in KUBERNETES_REMEDIES.items()),
            _row("`Unschedulable` with a claim in the message", CLAIM_REMEDY),
        ),
    }
    first, *sections = page.split("\n## ")
    return "\n## ".join([first, *(_section(section, rows) for section in sections)])


def _section(section: str, rows: Mapping[str, Iterable[str]]) -> str:
    title, *lines = section.split("\n")
    if title not in rows:
        return section
    places = [number for number, line in enumerate(lines) if line.startswith(_ROW)]
    return "\n".join([title, *lines[: places[0]], *rows[title], *lines[places[-1] + 1 :]])


def _row(reason: str, remedy: str) -> str:
    return f"| {reason} | {remedy} |"


if __name__ == "__main__":
    written = Path(sys.argv[1])
    written.write_text(with_remedies(written.read_text()))
