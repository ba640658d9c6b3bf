"""The check of prose reads what a person reads, on the lines where it is written."""

from __future__ import annotations

import pytest
from tests.cluster.binaries import ROOT
from tests.prose.check import GENERATED, Finding
from tests.prose.exceptions import without_exceptions
from tests.prose.texts import comments_of, help_of

SOURCE = '''\
"""Say hello.

Args:
    name: whom to greet,
        in capitals.
"""

GREETING = "hello"  # of one kind
PAUSE = 3  # in seconds


def greet(parser):
    """Print it."""
    # Twice, because
    # nobody listens.
    parser.add_argument("name", help="whom to "
                        f"greet {GREETING}")  # noqa: E501
    raise ValueError(f"no one; "
                     "name a person")
'''
FINDING = Finding("docs/a.md", 7, "Pages.Sentences", "too long", "| a long row | of a table |")


def lines(text: str) -> dict[int, str]:
    return {number: line for number, line in enumerate(text.splitlines(), 1) if line}


def test_docstrings_and_comments_are_read_on_their_lines() -> None:
    assert lines(comments_of(SOURCE)) == {
        1: "Say hello.",
        4: "- name: whom to greet,",
        5: "  in capitals.",
        8: "of one kind",
        9: "- in seconds",
        13: "Print it.",
        14: "- Twice, because",
        15: "nobody listens.",
    }


def test_help_texts_and_messages_are_read_on_their_lines_with_a_word_for_what_the_program_puts_in() -> None:
    assert lines(help_of(SOURCE)) == {16: "whom to ", 17: "greet X", 18: "- no one. ", 19: "Name a person"}


def test_an_exception_names_path_rule_and_part_of_the_line() -> None:
    other = Finding("docs/a.md", 8, "Pages.Sentences", "too long", "another row")
    assert without_exceptions([FINDING, other], "# a comment\ndocs/a.md Pages.Sentences a long row\n") == [other]


def test_an_exception_that_excuses_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"delete it: docs/a.md Pages.Order a long row"):
        without_exceptions([FINDING], "docs/a.md Pages.Order a long row")


def test_more_than_twenty_exceptions_are_refused() -> None:
    with pytest.raises(ValueError, match="21 exceptions are more than 20"):
        without_exceptions([FINDING], "docs/a.md Pages.Sentences a long row\n" * 21)


def test_only_the_page_with_examples_of_bad_sentences_turns_the_check_off() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert len(pages) > 50
    assert [page.name for page in pages if "vale off" in page.read_text()] == ["writing.md"]


# Their tables are measured by tests or hold examples of wording. `python -m benchmarks` measures those of other pages.
WITHOUT_TABLES = {
    "cluster-faults.md",
    "gitops.md",
    "images.md",
    "lost-nodes.md",
    "tests.md",
    "versions.md",
    "writing.md",
}


def test_the_documentation_without_generated_and_measured_tables_has_at_most_forty_thousand_words() -> None:
    words = 0
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        lines = page.read_text().splitlines()
        if page.name in WITHOUT_TABLES or any("python -m benchmarks" in line for line in lines):
            lines = [line for line in lines if not line.startswith("|")]
        words += 0 if str(page.relative_to(ROOT)) in GENERATED else len(" ".join(lines).split())
    assert 10_000 < words <= 40_000


def test_the_decisions_have_at_most_six_thousand_words() -> None:
    words = [len(page.read_text().split()) for page in ROOT.glob("docs/decisions/*.md")]
    assert 1000 < sum(words) <= 6_000
