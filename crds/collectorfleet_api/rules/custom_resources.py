"""Checks names of custom resources: ``ray start`` gets them through a shell, and some names are reserved."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from collectorfleet_api.names import COLLECTOR_RESOURCE, EVALUATOR_RESOURCE, LEARNER_RESOURCE
from collectorfleet_api.rules.problem import Problem
from collectorfleet_api.v1alpha1.fleet import CollectorFleet

_NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_OF_RAY: Final = ("CPU", "GPU", "memory", "object_store_memory")


def custom_resource_problems(fleet: CollectorFleet) -> Iterator[Problem]:
    collectors, workers = fleet.spec.collectors, fleet.spec.workers
    # Fleets without an evaluation may use this name, because they could use it before evaluations existed.
    own = {EVALUATOR_RESOURCE} if fleet.spec.evaluation is not None else set()
    yield from _names(collectors.resources.custom or (), "spec.collectors.resources.custom", own)
    yield from _names(workers.custom_per_pod or (), "spec.workers.customPerPod", own)
    for index, group in enumerate(collectors.groups):
        path = f"spec.collectors.groups[{index}]"
        yield from _names(group.resources.custom or (), f"{path}.resources.custom", own)
        yield from _names(group.workers.custom_per_pod or (), f"{path}.workers.customPerPod", own)


def _names(names: Iterable[str], path: str, of_evaluators: Collection[str]) -> Iterator[Problem]:
    for name in names:
        if not _NAME.fullmatch(name):
            text = (
                "is not a name of a resource; use at most 63 letters, digits, '_', '.' and '-', and begin with a letter"
            )
            yield Problem(path, f'"{name}" {text}')
        elif name in _OF_RAY:
            yield Problem(path, f"{name} is a resource of Ray itself; use cpu, gpu and memory of collectors.resources")
        elif name == COLLECTOR_RESOURCE or name.startswith(f"{COLLECTOR_RESOURCE}-"):
            yield Problem(path, f"{name} is reserved for placing collectors; use another name")
        elif name == LEARNER_RESOURCE:
            yield Problem(path, f"{name} is reserved for placing learners; use another name")
        elif name in of_evaluators:
            yield Problem(path, f"{name} is reserved for placing evaluators; use another name")
