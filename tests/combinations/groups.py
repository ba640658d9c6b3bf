"""Of `spec.collectors.groups`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import GROUPS, JOB

REFUSED = [
    pytest.param(
        {**JOB, "spec.collectors.groups": GROUPS},
        "spec.collectors.groups: with launcher Job, all collectors are alike; leave collectors.groups out, or set "
        "launcher to RayCluster",
        id="groups of collectors without Ray",
    ),
]
