"""Two builds of one tree make the same layers."""

from __future__ import annotations

import pytest
from tests.cluster import image_build
from tests.cluster.binaries import ROOT
from tests.images.conftest import DOCKERFILES, GIGABYTES, OPERATOR

pytestmark = pytest.mark.timeout(3600)

# Any time; a release takes that of its commit.
TIMESTAMP = 1_700_000_000


def test_two_builds_of_the_operator_have_the_same_layers() -> None:
    if reason := image_build.missing(GIGABYTES):
        pytest.skip(f"left out the builds of the operator: {reason}")
    names = [f"localhost/collectorfleet-test-build:{number}" for number in (1, 2)]
    made = []
    for name in names:
        image_build.build(ROOT / DOCKERFILES[OPERATOR], name, timestamp=TIMESTAMP)
        made.append(image_build.layers(name))
        image_build.remove(name)
    first, second = made
    assert len(first) >= 2
    assert first == second
