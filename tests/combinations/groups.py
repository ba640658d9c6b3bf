"""Of `spec.collectors.groups`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import GROUPS, JOB

REFUSED = [
    pytest.param(
        {**JOB, "spec.collectors.groups": GROUPS},
        "spec.collectors.groups: groups are kinds of worker pods of a RayCluster, but with launcher Job all "
        "collectors are alike; use launcher RayCluster, or leave groups out",
        id="groups of collectors without Ray",
    ),
]
