"""Two builds of one tree make the same layers."""

from __future__ import annotations

import pytest
from tests.cluster import image_build
from tests.cluster.binaries import ROOT
from tests.images.conftest import COLLECTOR, DOCKERFILES, OPERATOR

pytestmark = pytest.mark.timeout(3600)

# The images of the other tests may already take their 40 GB. Of these images, the largest takes less than 1 GB.
GIGABYTES = 8
# Any time; a release takes that of its commit.
TIMESTAMP = 1_700_000_000
# Every step of the collector image, without the 6 GB of torch and CUDA.
FEW_PACKAGES = {"REQUIREMENTS": "requirements/operator.txt", "SOURCE_DATE_EPOCH": str(TIMESTAMP)}


@pytest.mark.parametrize(
    ("image", "arguments"),
    [
        pytest.param(OPERATOR, {}, id="operator"),
        pytest.param(COLLECTOR, FEW_PACKAGES, id="collector image with few packages"),
    ],
)
def test_two_builds_have_the_same_layers(image: str, arguments: dict[str, str]) -> None:
    if reason := image_build.missing(GIGABYTES):
        pytest.skip(f"left out the builds of the images: {reason}")
    names = [f"localhost/collectorfleet-test-build:{number}" for number in (1, 2)]
    made = []
    for name in names:
        image_build.build(ROOT / DOCKERFILES[image], name, timestamp=TIMESTAMP, arguments=arguments)
        made.append(image_build.layers(name))
        image_build.remove(name)
    first, second = made
    assert len(first) >= 2
    assert first == second
