"""The site builds, every page has its place, and no link leads nowhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from tests.cluster.binaries import ROOT

DOCS = ROOT / "docs"


def pages(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        (place,) = entry.values()
        yield from pages(place) if isinstance(place, list) else [place]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def copied(folder: Path) -> Path:
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    return folder


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    done = build(copied(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    page = folder / "docs" / "index.md"
    page.write_text(page.read_text() + "\n[see](operate.md#no-such-heading)\n")
    assert build(folder).returncode != 0


def test_every_page_has_its_place() -> None:
    nav = list(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(nav) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
