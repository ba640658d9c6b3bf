"""``make prose`` finds what the guide forbids, and says what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster import binaries
from tests.prose.check import Finding, findings

LONG = " ".join(["word"] * 26)


def found(root: Path, path: str, text: str) -> list[Finding]:
    """Return the findings in a project with one file."""
    if reason := binaries.missing([binaries.VALE]):
        pytest.skip(f"left out the test of prose: {reason}")
    file = root / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return findings(binaries.build(binaries.VALE) / "vale", root)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        pytest.param(f"A {LONG}.", "write two sentences", id="a long sentence"),
        pytest.param("The run goes on.", "'continues', or 'resumes' instead of 'goes on'", id="an everyday word"),
        pytest.param("Where the pod is lost, it is restarted.", "with 'if' or 'when'", id="an unusual order"),
        pytest.param("The page says what is wrong.", "the noun instead of 'what is'", id="a clause for a noun"),
        pytest.param("The driver respawns the collector.", "'restart' instead of 'respawns'", id="another term"),
        pytest.param("See the docs, e.g. this page.", "'for example' instead of 'e.g.'", id="Latin"),
        pytest.param("The reader simply runs it.", "Delete 'simply'", id="a filler"),
    ],
)
def test_a_page_is_read_by_every_rule(tmp_path: Path, text: str, suggestion: str) -> None:
    (one,) = found(tmp_path, "docs/folder/page.md", f"# A page\n\nGood.\n{text}\n")
    assert str(one).startswith("docs/folder/page.md:4: ")
    assert suggestion in one.message
    assert one.text == text


def test_a_comment_and_a_help_text_are_read_with_their_lines(tmp_path: Path) -> None:
    source = f'"""Good."""\n\nparser.add_argument("x", help="The run goes on.")\n# {LONG}\n'
    files = found(tmp_path, "operator/package/module.py", source)
    assert [(one.path, one.line, one.rule.split(".")[1]) for one in files] == [
        ("operator/package/module.py", 3, "Constructions"),
        ("operator/package/module.py", 4, "Sentences"),
    ]


def test_what_a_test_has_measured_is_not_read(tmp_path: Path) -> None:
    block = f"<!-- written by make test-gitops -->\n{LONG}\n<!-- end of what it wrote -->\n"
    assert found(tmp_path, "docs/page.md", f"{block}\nThe run goes on.\n")[0].line == 5
