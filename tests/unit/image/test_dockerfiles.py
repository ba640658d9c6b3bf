"""What the Dockerfiles say once more has to agree with the project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.thin_images import COLLECTOR_USER, OPERATOR_USER

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
