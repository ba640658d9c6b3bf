"""Of simulators that collectors start."""

from __future__ import annotations

import pytest

from tests.combinations.parts import SIMULATOR

_GROUPS = [{"name": "fast", "replicas": 3}, {"name": "big", "environment": {"process": SIMULATOR}}]
_IN_TIME = (
    "spec.collectors.firstRequestTimeoutSeconds: this time is not longer than a simulator's readyTimeoutSeconds, so a "
    "collector that waits for its simulator would count as hung; use a longer time"
)
_ONE_ENVIRONMENT = (
    "spec.environment.perCollector: a collector starts only one simulator (environment.process), which several "
    "environments cannot share; set perCollector to 1, and raise collectors.replicas"
)
_SINGLE = (
    "spec.collectors.class: class Sync or Async builds several environments, but a collector starts only one simulator "
    "(environment.process); set collectors.class to Single, and raise collectors.replicas"
)

REFUSED = [
    pytest.param(
        {"spec.environment.process": SIMULATOR, "spec.environment.perCollector": 2},
        _ONE_ENVIRONMENT,
        id="a simulator for two environments",
    ),
    pytest.param(
        {"spec.collectors.groups": _GROUPS, "spec.environment.perCollector": 2},
        _ONE_ENVIRONMENT,
        id="a group's simulator for two environments",
    ),
    pytest.param(
        {"spec.environment.process": SIMULATOR, "spec.collectors.class": "Sync"},
        _SINGLE,
        id="a simulator beside class Sync",
    ),
    pytest.param(
        {"spec.collectors.groups": _GROUPS, "spec.collectors.class": "Async"},
        _SINGLE,
        id="a group's simulator beside class Async",
    ),
    pytest.param(
        {"spec.environment.process": SIMULATOR, "spec.collectors.firstRequestTimeoutSeconds": 90},
        _IN_TIME,
        id="a simulator that is ready too late",
    ),
    pytest.param(
        {"spec.collectors.groups": _GROUPS, "spec.collectors.firstRequestTimeoutSeconds": 60},
        _IN_TIME,
        id="a group's simulator that is ready too late",
    ),
    pytest.param(
        {
            "spec.evaluation": {"environment": {"process": SIMULATOR}},
            "spec.collectors.firstRequestTimeoutSeconds": 60,
        },
        _IN_TIME,
        id="an evaluator's simulator that is ready too late",
    ),
]
