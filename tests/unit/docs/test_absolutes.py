"""Each sentence of the documentation with never, nothing or always has a test that shows it, or promises nothing."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
ENTRIES = re.findall(
    r'^\* (\S+) "(.+)":\n((?:  .+\n)+)', (ROOT / "tests/promises/absolutes.md").read_text(), flags=re.MULTILINE
)
# The rows of failure-modes.md have a list of their own. The messages of the code are quoted in all-messages.md, and
# writing.md has examples of sentences.
LEFT_OUT = {"docs/failure-modes.md", "docs/all-messages.md", "docs/contributing/writing.md"}
ABSOLUTE = re.compile(r"\b(never|nothing|always)\b", re.IGNORECASE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def absolute_lines(page: Path) -> list[str]:
    """Return the lines of a page with one of the words, as they stand. The words in code do not count."""
    text = page.read_text()
    without_code = CODE.sub(lambda code: re.sub(r"[^\n]", "`", code[0]), text)
    lines = zip(text.splitlines(), without_code.splitlines(), strict=True)
    return [line for line, words in lines if ABSOLUTE.search(words)]


def lines_by_page() -> dict[str, list[str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {str(page.relative_to(ROOT)): absolute_lines(page) for page in pages}
    return {page: lines for page, lines in found.items() if page not in LEFT_OUT}


def test_the_words_are_found_in_prose_and_not_in_code(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Nothing is lost.\nSet `Always`.\n```\n# never\n```\nIt `is` never lost.\n")
    assert absolute_lines(tmp_path / "page.md") == ["Nothing is lost.", "It `is` never lost."]


def test_each_such_line_has_an_entry() -> None:
    parts: dict[str, list[str]] = {}
    for page, part, _ in ENTRIES:
        parts.setdefault(page, []).append(part)
    missing = [
        f"{page}: {line}"
        for page, lines in lines_by_page().items()
        for line in lines
        if not any(part in line for part in parts.get(page, []))
    ]
    assert missing == []


def test_each_entry_is_of_such_a_line() -> None:
    lines = lines_by_page()
    assert len(ENTRIES) > 30
    assert [entry[:2] for entry in ENTRIES if not any(entry[1] in line for line in lines[entry[0]])] == []


def test_each_entry_has_tests_or_says_why_it_is_no_promise() -> None:
    def is_shown(text: str) -> bool:
        lines = text.splitlines()
        is_test = [re.fullmatch(r"  `tests/\S+\.py::test_\w+`", line) is not None for line in lines]
        return all(is_test) or (len(lines) == 1 and re.fullmatch(r"  not a promise: \w.+", lines[0]) is not None)

    assert [entry[:2] for entry in ENTRIES if not is_shown(entry[2])] == []
