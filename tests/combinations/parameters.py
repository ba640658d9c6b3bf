"""Of parameters of environments."""

from __future__ import annotations

import pytest

from tests.combinations.parts import SCRIPT

CURRICULUM = {"function": "lab:curriculum"}
PROCESSES = (
    "spec.collectors.class: a collector with several processes cannot set parameters of its environments; set "
    "collectors.class to Single, and use environment.perCollector"
)
TRAJECTORIES = (
    "spec.collection.trajsPerBatch: parameters could change within a trajectory, so the parameters of its frames would "
    "be unknown; leave trajsPerBatch out, or leave environment.parameters and driver.curriculum out"
)

REFUSED = [
    pytest.param(
        {"spec.driver.curriculum": CURRICULUM},
        "spec.driver.curriculum: the curriculum is called after each evaluation, but the fleet has no evaluation; set "
        "spec.evaluation",
        id="a curriculum without an evaluation",
    ),
    pytest.param(
        {**SCRIPT, "spec.driver": {"script": "train.py", "curriculum": CURRICULUM}, "spec.evaluation": {}},
        "spec.driver.curriculum: driver.script makes the collector; pass curriculum=... to its FleetCollector",
        id="a curriculum beside a script",
    ),
    pytest.param(
        {"spec.environment.parameters": {"apply": "NextStep", "through": "ResetOptions"}},
        "spec.environment.parameters: reset options reach an environment only when it is reset; set apply: NextReset",
        id="options of a reset in the middle of an episode",
    ),
    pytest.param(
        {"spec.environment.parameters": {}, "spec.collectors.class": "Sync"},
        PROCESSES,
        id="parameters of environments in processes of a collector",
    ),
    pytest.param(
        {"spec.driver.curriculum": CURRICULUM, "spec.evaluation": {}, "spec.collectors.class": "Async"},
        PROCESSES,
        id="a curriculum of environments in processes of a collector",
    ),
    pytest.param(
        {"spec.environment.parameters": {}, "spec.collection.trajsPerBatch": 2},
        TRAJECTORIES,
        id="parameters in whole trajectories",
    ),
]
