"""Rules for simulators (``environment.process``) together with options of the collectors."""

from __future__ import annotations

from typing import Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.v1alpha1.collectors import CollectorClass
from collectorfleet_api.v1alpha1.process import Process
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

_GROUPS: Final = "has(self.collectors.groups)"
_HAS_PROCESS: Final = (
    "(has(self.environment) && has(self.environment.process) || "
    f"{_GROUPS} && self.collectors.groups.exists(g, has(g.environment.process)))"
)
_FIRST_REQUEST: Final = "self.collectors.firstRequestTimeoutSeconds"
_IN_TIME: Final = (
    "(!has(self.environment) || !has(self.environment.process) || "
    f"self.environment.process.readyTimeoutSeconds < {_FIRST_REQUEST}) && "
    f"(!{_GROUPS} || self.collectors.groups.all(g, !has(g.environment.process) || "
    f"g.environment.process.readyTimeoutSeconds < {_FIRST_REQUEST})) && "
    "(!has(self.evaluation) || !has(self.evaluation.environment.process) || "
    f"self.evaluation.environment.process.readyTimeoutSeconds < {_FIRST_REQUEST})"
)


def _of_collectors(spec: CollectorFleetSpec) -> list[Process]:
    parts = [spec.environment, *(group.environment for group in spec.collectors.groups)]
    return [part.process for part in parts if part is not None and part.process is not None]


def _of_all(spec: CollectorFleetSpec) -> list[Process]:
    evaluators = spec.evaluation.environment.process if spec.evaluation is not None else None
    return [*_of_collectors(spec), *([evaluators] if evaluators is not None else [])]


SIMULATORS: Final = (
    Combination(
        "simulator-has-one-environment",
        "environment.perCollector",
        lambda spec: spec.environment is None or spec.environment.per_collector == 1 or not _of_collectors(spec),
        f"!has(self.environment) || self.environment.perCollector == 1 || !{_HAS_PROCESS}",
        "a collector starts only one simulator (environment.process), which several environments cannot share; set "
        "perCollector to 1, and raise collectors.replicas",
    ),
    Combination(
        "simulator-has-class-single",
        "collectors.class",
        lambda spec: spec.collectors.collector_class is CollectorClass.SINGLE or not _of_collectors(spec),
        f"self.collectors.class == 'Single' || !{_HAS_PROCESS}",
        "class Sync or Async builds several environments, but a collector starts only one simulator "
        "(environment.process); set collectors.class to Single, and raise collectors.replicas",
    ),
    Combination(
        "simulator-is-ready-in-time",
        "collectors.firstRequestTimeoutSeconds",
        lambda spec: all(
            process.ready_timeout_seconds < spec.collectors.first_request_timeout_seconds for process in _of_all(spec)
        ),
        _IN_TIME,
        "this time is not longer than a simulator's readyTimeoutSeconds, so a collector that waits for its simulator "
        "would count as hung; use a longer time",
    ),
)
