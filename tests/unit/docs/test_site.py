"""The site builds, every page has its place, and no link leads nowhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.binaries import ROOT

DOCS = ROOT / "docs"


def pages(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        (place,) = entry.values()
        yield from pages(place) if isinstance(place, list) else [place]


# Pages that list further pages, such as those of their own section.
LISTS = ("measured.md", "decisions/index.md", "monitoring.md")


def linked_from(page: str) -> set[str]:
    """Return the pages that a page links to, and those that its lists link to."""
    folder = (DOCS / page).parent
    targets = re.findall(r"\]\(([^)#:]+\.md)\)", (DOCS / page).read_text())
    found = {str((folder / target).resolve().relative_to(DOCS)) for target in targets}
    return found.union(*(linked_from(one) for one in found & set(LISTS)))


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def copied(folder: Path) -> Path:
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly, once."""
    folder = copied(tmp_path_factory.mktemp("site"))
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build/site"


def test_the_site_builds_strictly(site: Path) -> None:
    assert (site / "index.html").is_file()


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    page = folder / "docs" / "index.md"
    page.write_text(page.read_text() + "\n[see](operate.md#no-such-heading)\n")
    assert build(folder).returncode != 0


def test_every_page_has_its_place() -> None:
    nav = list(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(nav) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("part", ["Tutorials", "How-to guides", "Reference", "Explanation"])
def test_the_first_page_of_a_part_says_what_each_of_its_pages_answers(part: str) -> None:
    parts = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    (nav,) = [one[part] for one in parts if part in one]
    index, *others = pages(nav)
    assert others
    assert set(others) - linked_from(index) == set()
    for line in (DOCS / index).read_text().splitlines():
        assert not line.startswith("| [") or line.endswith("? |"), line


def test_each_figure_that_was_measured_is_on_the_page_that_its_row_links_to() -> None:
    rows = [line for line in (DOCS / "measured.md").read_text().splitlines() if line.endswith(".md) |")]
    assert 10 < len(rows) <= 20
    for row in rows:
        _, ours, theirs, ratio, link = row.strip("| ").split(" | ")
        page = (DOCS / link.partition("(")[2].strip(")")).read_text()
        figures = [re.sub(r" .s?$| %$|x$", "", cell.rpartition(": ")[2]) for cell in (ours, theirs, ratio)]
        known = [figure for figure in figures if figure[0].isdigit()]
        assert known, row
        assert [figure for figure in known if figure not in page] == [], row


def test_a_former_address_leads_to_the_page(site: Path) -> None:
    former = site / "start/index.html"
    (target,) = re.findall(r'content="0; url=([^"]+)"', former.read_text())
    assert (former.parent / target / "index.html").is_file()


def test_pages_are_dark_where_the_readers_system_is(site: Path) -> None:
    page = (site / "conditions/index.html").read_text()
    assert 'data-md-color-media="(prefers-color-scheme: dark)" data-md-color-scheme="slate"' in page
    assert re.search(r'<link rel="stylesheet" href="\.\./extra\.css">', page)
