"""The tests of other versions write the table of docs/versions.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.common import tables

_BEGIN, _END = "<!-- written by make test-versions -->", "<!-- end of what it wrote -->"
_HEADER = ("Kubernetes", "KubeRay", "Ray", "tests", "passed", "left out")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", metavar="FILE", help="write the table of what passed into that page")


@pytest.fixture(scope="session")
def passed(request: pytest.FixtureRequest) -> Iterator[list[tuple[str, ...]]]:
    """A row for each combination that passed; shown at the end."""
    rows: list[tuple[str, ...]] = []
    yield rows
    shown = tables.table(_HEADER, rows)
    print(f"\n{shown}")
    if page := request.config.getoption("--write"):
        before, _, rest = Path(page).read_text().partition(_BEGIN)
        _, _, after = rest.partition(_END)
        Path(page).write_text(f"{before}{_BEGIN}\n\n{shown}\n\n{_END}{after}")
