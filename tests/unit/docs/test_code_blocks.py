"""Each block of Python or YAML in the documentation can be read as such."""

from __future__ import annotations

import ast
import re
from textwrap import dedent

import pytest
import yaml
from tests.cluster.binaries import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
READERS = {"python": ast.parse, "yaml": lambda text: list(yaml.safe_load_all(text))}
BLOCKS = [
    pytest.param(
        found[2],
        dedent(found[3]),
        id=f"{page.relative_to(ROOT)}:{page.read_text()[: found.start()].count(chr(10)) + 1}",
    )
    for page in PAGES
    for found in BLOCK.finditer(page.read_text())
    if found[2] in READERS
]


def test_there_are_blocks_of_both_languages() -> None:
    assert {block.values[0] for block in BLOCKS} == READERS.keys()
    assert len(BLOCKS) > 50


@pytest.mark.parametrize(("language", "text"), BLOCKS)
def test_a_block_can_be_read(language: str, text: str) -> None:
    READERS[language](text)
