"""The command blocks of the documentation: each is run by a walk, or says above it why it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.binaries import ROOT

_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^\n]*) -->\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FOLDERS = ("", "docs", "docs/runbooks", "docs/decisions", "docs/contributing", "charts/*", "examples/*")


@dataclass(frozen=True)
class Block:
    """``mark`` is the comment above it, such as ``not run: it needs a registry``; empty for one that a walk runs."""

    page: str
    text: str
    mark: str = ""


def blocks() -> Iterator[Block]:
    for page in sorted({page for folder in _FOLDERS for page in ROOT.glob(f"{folder}/*.md".lstrip("/"))}):
        yield from of_page(page)


def of_page(page: Path) -> Iterator[Block]:
    name = str(page.relative_to(ROOT))
    for found in _BLOCK.finditer(page.read_text()):
        yield Block(name, found["text"], found["mark"] or "")
