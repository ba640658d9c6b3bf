"""Each row of docs/failure-modes.md has tests that show it, and every test that a page names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROMISES = ROOT / "tests/promises"
ROWS = (ROOT / "docs/failure-modes.md").read_text()
TESTS = (PROMISES / "failure-modes.md").read_text()
NAMED = {row: re.findall(r"`(\S+::\S+)`", tests) for row, tests in re.findall(r"^\* (.+):\n((?:  .+\n)+)", TESTS, re.M)}


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def missing(named: list[str]) -> list[str]:
    return [test for test in named if test.partition("::")[2] not in functions_of(test.partition("::")[0])]


def test_every_row_has_its_tests_and_no_other_entry_exists() -> None:
    rows = re.findall(r"^\| (.+?) \| ", ROWS, re.M)
    rows = [row for row in rows if row != "what fails"]
    assert len(rows) > 40
    assert sorted(NAMED) == sorted(rows)


def test_every_test_that_is_named_exists() -> None:
    named = [test for tests in NAMED.values() for test in tests]
    assert len(named) >= len(NAMED)
    assert missing(named) == []
    assert all(NAMED.values())


def test_every_test_that_a_page_or_a_list_of_promises_names_exists() -> None:
    sources = [*(ROOT / "docs").rglob("*.md"), *PROMISES.glob("*.md")]
    pages = {page: re.findall(r"`(tests/\S+::\S+)`", page.read_text()) for page in sources}
    assert pages[PROMISES / "security.md"]
    assert pages[PROMISES / "rollout-loop.md"]
    assert {str(page): missing(named) for page, named in pages.items() if missing(named)} == {}


def test_each_file_of_tests_that_the_list_of_other_pages_names_exists() -> None:
    named = re.findall(r"`(tests/\S+\.py)`", (PROMISES / "pages.md").read_text())
    assert named
    assert [file for file in named if not (ROOT / file).is_file()] == []


def test_each_page_with_a_list_of_promises_says_where_the_list_is() -> None:
    lists = [one for one in sorted(PROMISES.glob("*.md")) if one.name not in ("absolutes.md", "pages.md")]
    assert lists
    for one in lists:
        assert f"`tests/promises/{one.name}`" in (ROOT / "docs" / one.name).read_text()
