"""What the README says of figures and manifests."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from tests.cluster.binaries import ROOT

from collectorfleet_api.manifests.files import load_manifests

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("docs/faults.md", ["100 of 100", "0.453"]),
        ("docs/benchmarks.md", ["98.7", "53.5"]),
        ("docs/benchmarks.md", ["7.5", "991"]),
        ("docs/rollout.md", ["20,286", "5,029", "1,889"]),
    ],
)
def test_a_row_of_figures_says_what_the_page_says_that_it_links_to(page: str, figures: list[str]) -> None:
    rows = [line for line in README.splitlines() if line.startswith("|") and f"({page})" in line]
    assert [row for row in rows if all(figure.removesuffix(" of 100") in row for figure in figures)]
    measured = (ROOT / page).read_text().splitlines()
    assert all(any(figure in line for line in measured) for figure in figures)


def test_its_pictures_are_there_and_ask_no_other_host() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert not re.findall(r"url\(['\"]?http|@import|<image", (ROOT / picture).read_text())


def test_the_version_to_cite_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])


def test_its_manifest_is_a_fleet() -> None:
    (manifest,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    loaded = load_manifests(manifest, "README.md")
    assert [str(finding) for finding in loaded.findings] == []
    assert [fleet.metadata.name for fleet in loaded.fleets] == ["cartpole"]
