"""The tests of other versions write the table of docs/versions.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from benchmarks.common import tables

_BEGIN, _END = "<!-- written by make test-versions -->", "<!-- end of what it wrote -->"
_KEY = 5  # columns that say what was run
_HEADER = ("Kubernetes", "KubeRay", "Ray", "Kueue", "tests", "passed", "left out")

Row = tuple[str, ...]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", metavar="FILE", help="write the table of what passed into that page")


@pytest.fixture(scope="session")
def passed(request: pytest.FixtureRequest) -> Iterator[list[Row]]:
    """A row for each combination that passed; shown at the end."""
    rows: list[Row] = []
    yield rows
    print(f"\n{tables.table(_HEADER, rows)}")
    if page := request.config.getoption("--write"):
        before, _, rest = Path(page).read_text().partition(_BEGIN)
        written, _, after = rest.partition(_END)
        shown = tables.table(_HEADER, merged(written, rows))
        Path(page).write_text(f"{before}{_BEGIN}\n\n{shown}\n\n{_END}{after}")


def merged(written: str, rows: Sequence[Row]) -> list[Row]:
    """The rows of a page with those of this run in their place, or behind them: a run of some leaves the others."""
    lines = [line.strip("| ") for line in written.splitlines() if line.startswith("|")][2:]
    found = {row[:_KEY]: row for row in (tuple(cell.strip() for cell in line.split(" | ")) for line in lines)}
    return list((found | {row[:_KEY]: row for row in rows}).values())
