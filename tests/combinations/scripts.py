"""Of `spec.driver.script`."""

from __future__ import annotations

import pytest

from tests.combinations.parts import GROUPS, OF_THE_SCRIPT, ONLY_TOLD, SCRIPT

REFUSED = [
    pytest.param(
        {**SCRIPT, "spec.collectors.groups": [GROUPS[0], {"name": "big", "devices": {"device": "cpu"}}]},
        "spec.collectors.groups: driver.script sets environments and devices in its FleetCollector; leave environment "
        "and devices of each group out",
        id="groups that differ in what a script says",
    ),
    *(
        pytest.param(
            {**SCRIPT, f"spec.{path}": value},
            f"spec.{path}: driver.script sets this in its FleetCollector; leave this field out",
            id=f"{path} beside a script",
        )
        for path, value in OF_THE_SCRIPT.items()
        if path not in ONLY_TOLD
    ),
]
