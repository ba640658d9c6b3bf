"""What the Dockerfiles say once more has to agree with the project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.thin_images import COLLECTOR_IMAGES, COLLECTOR_USER, OPERATOR_USER, VERSION

COLLECTOR, OPERATOR = (ROOT / folder / "Dockerfile" for folder in ("collector_image", "operator"))


def test_the_collector_image_is_labelled_with_the_ray_it_holds() -> None:
    pinned = re.search(r"^ray\[?.*\]?==(\S+)", (ROOT / "requirements/runtime.txt").read_text(), re.MULTILINE)
    labelled = re.search(r'collectorfleet\.dev/ray-version="(.+)"', COLLECTOR.read_text())
    assert pinned
    assert labelled
    assert labelled[1] == pinned[1]


@pytest.mark.parametrize(
    ("dockerfile", "user"),
    [pytest.param(COLLECTOR, COLLECTOR_USER, id="collector"), pytest.param(OPERATOR, OPERATOR_USER, id="operator")],
)
def test_thin_images_run_as_the_user_of_the_real_ones(dockerfile: Path, user: int) -> None:
    assert f"USER {user}:{user}" in dockerfile.read_text()


@pytest.mark.parametrize("dockerfile", [COLLECTOR, OPERATOR], ids=["collector", "operator"])
def test_an_image_is_labelled_with_the_version_of_the_project(dockerfile: Path) -> None:
    labelled = re.search(r'org\.opencontainers\.image\.version="(.+)"', dockerfile.read_text())
    assert labelled
    assert labelled[1] == VERSION


def test_an_image_of_ones_own_is_three_lines_on_the_published_one() -> None:
    lines = [line for line in (ROOT / "examples/own_image/Dockerfile").read_text().splitlines() if line]
    assert [line.partition(" ")[0] for line in lines] == ["FROM", "RUN", "COPY"]
    assert lines[0].endswith(COLLECTOR_IMAGES[0])
    beside = {line.removeprefix("#").strip() for line in COLLECTOR.read_text().splitlines() if line.startswith("#")}
    assert lines[0] in beside
