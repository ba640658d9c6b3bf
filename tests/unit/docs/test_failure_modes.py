"""Each row of docs/failure-modes.md names the tests that show it, and these tests exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROWS, TESTS = (ROOT / "docs/failure-modes.md").read_text().split("\n## Tests\n")
NAMED = {row: re.findall(r"`(\S+::\S+)`", tests) for row, tests in re.findall(r"^\* (.+):\n((?:  .+\n)+)", TESTS, re.M)}


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def missing(named: list[str]) -> list[str]:
    return [test for test in named if test.partition("::")[2] not in functions_of(test.partition("::")[0])]


def test_every_row_names_its_tests_and_no_others_are_named() -> None:
    rows = re.findall(r"^\| (.+?) \| ", ROWS, re.M)
    rows = [row for row in rows if row != "what fails"]
    assert len(rows) > 40
    assert sorted(NAMED) == sorted(rows)


def test_every_test_that_is_named_exists() -> None:
    named = [test for tests in NAMED.values() for test in tests]
    assert len(named) >= len(NAMED)
    assert missing(named) == []
    assert all(NAMED.values())


def test_every_test_that_another_page_names_exists() -> None:
    pages = {page: re.findall(r"`(tests/\S+::\S+)`", page.read_text()) for page in (ROOT / "docs").rglob("*.md")}
    assert pages[ROOT / "docs/rollout-loop.md"]
    assert {page.name: missing(named) for page, named in pages.items() if missing(named)} == {}
