"""Maps each field of the spec to the parts of a running fleet that a change of the field affects.

A changed field takes effect in a part when that part is replaced. A changed field that affects no part applies while
the fleet runs. A field may affect several parts: ``collectors.resources`` sets the requests of an actor and the size of
its pod. ``code`` affects all parts, because every pod mounts the code. A pod keeps the ConfigMap with which it was
created.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from collectorfleet_api.rules.hash_defaults import DEFAULTS, without_defaults
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


class Part(StrEnum):
    """A part of a fleet that can be replaced separately."""

    DRIVER = "driver"
    HEAD = "head"
    GROUP = "group"  # the worker pods of a group, each group by itself
    LEARNERS = "learners"  # the pods of learner shards
    EVALUATORS = "evaluators"  # the pods of evaluators


_NOBODY: Final[frozenset[Part]] = frozenset()
_ALL: Final = frozenset(Part)
_DRIVER: Final = frozenset({Part.DRIVER})
_GROUP: Final = frozenset({Part.GROUP})
_DRIVER_AND_GROUP: Final = _DRIVER | _GROUP
_DRIVER_AND_LEARNERS: Final = _DRIVER | {Part.LEARNERS}
_EVALUATORS: Final = frozenset({Part.EVALUATORS})
_GROUP_AND_EVALUATORS: Final = _GROUP | _EVALUATORS
_DRIVER_AND_EVALUATORS: Final = _DRIVER | _EVALUATORS

# The affected parts by path below `spec`. A path includes all inner fields that have no line of their own.
AFFECTED_PARTS: Final[Mapping[str, frozenset[Part]]] = {
    "image": _ALL,
    "imagePullPolicy": _ALL,
    "imagePullSecrets": _ALL,
    "priorityClassName": _ALL,
    "tolerations": _ALL,
    "code": _ALL,
    "environment": _DRIVER,
    "policy": _DRIVER,
    "driver": _DRIVER,
    "driver.livenessDeadlineSeconds": _NOBODY,
    "launcher": _ALL,
    "collection": _DRIVER,
    "collectors.replicas": _NOBODY,
    "collectors.minAvailable": _NOBODY,
    # The driver gets groups without their templates. Pods are built from the spec of each group, see `of_group`.
    "collectors.groups": _DRIVER,
    "collectors.resources": _DRIVER_AND_GROUP,
    "collectors.class": _DRIVER,
    "collectors.numWorkersPerCollector": _DRIVER,
    "collectors.devices": _DRIVER,
    "collectors.noCudaSync": _DRIVER,
    "collectors.preCollectHook": _DRIVER,
    "collectors.postCollectHook": _DRIVER,
    "collectors.kwargs": _DRIVER,
    "collectors.requestTimeoutSeconds": _DRIVER,
    "collectors.firstRequestTimeoutSeconds": _DRIVER,
    "collectors.availableTimeoutSeconds": _DRIVER,
    "collectors.onEnvironmentError": _DRIVER,
    "collectors.failurePolicy": _DRIVER,
    "collectors.scalingPolicy": _DRIVER,
    "workers.gpu": _DRIVER_AND_GROUP | _DRIVER_AND_LEARNERS,
    "workers.collectorsPerPod": _DRIVER_AND_GROUP,
    "workers.customPerPod": _DRIVER_AND_GROUP,
    # The operator merges the evaluators' template over this template.
    "workers.template": _GROUP_AND_EVALUATORS,
    "weights": _DRIVER,
    "replayBuffer": _DRIVER,
    "learners.factory": _DRIVER,
    "learners.kwargs": _DRIVER,
    "learners.split": _DRIVER,
    "learners.policies": _DRIVER,
    "learners.placement": _DRIVER,
    "learners.batchSize": _DRIVER,
    "learners.replay.factory": _DRIVER,
    "learners.replay.kwargs": _DRIVER,
    # Learners stay in their pods while the driver runs, so replacing learner pods needs a driver restart.
    "learners.maxPolicies": _DRIVER_AND_LEARNERS,
    "learners.gpus": _DRIVER_AND_LEARNERS,
    "learners.shards": _DRIVER_AND_LEARNERS,
    "learners.resources": _DRIVER_AND_LEARNERS,
    "learners.replay.resources": _DRIVER_AND_LEARNERS,
    "learners.template": _DRIVER_AND_LEARNERS,
    "evaluation": _DRIVER,
    # A running driver cannot add or remove evaluators, so more or larger evaluator pods need a driver restart.
    "evaluation.replicas": _DRIVER_AND_EVALUATORS,
    "evaluation.resources": _DRIVER_AND_EVALUATORS,
    "evaluation.template": _EVALUATORS,
    "output": _DRIVER,
    "ray": _ALL,
    "networkPolicy": _NOBODY,
    "updateStrategy": _NOBODY,
    "progressDeadlineSeconds": _NOBODY,
    "suspend": _NOBODY,
    "whenFinished": _NOBODY,
    "ttlSecondsAfterFinished": _NOBODY,
    "activeDeadlineSeconds": _NOBODY,
    "startupDeadlineSeconds": _NOBODY,
    "idleTimeoutSeconds": _NOBODY,
    "backoffLimit": _DRIVER,
}


# For each row of the table, the first keys of further rows below it.
_INNER: Final = {
    path: {row.removeprefix(f"{path}.") for row in AFFECTED_PARTS if row.startswith(f"{path}.")}
    for path in AFFECTED_PARTS
}


def fields_by_part(spec: CollectorFleetSpec) -> dict[Part, dict[str, Any]]:
    """Return, for each part, the values of the fields that affect the part, by the path of the field.

    A field is left out if it has the default of the release that introduced the field. So an upgrade of the operator
    that adds fields or changes defaults does not count as a change of the spec.
    """
    said = without_defaults(spec.model_dump(mode="json", by_alias=True))
    found = {path: _own(said, path) for path in AFFECTED_PARTS}
    found["collectors.groups"] = _without_templates(found["collectors.groups"])
    return {
        part: {path: value for path, value in found.items() if value is not None and part in AFFECTED_PARTS[path]}
        for part in Part
    }


def _without_templates(groups: list[Any] | None) -> list[Any] | None:
    """Return the groups without their pod templates. Only the pods get the templates."""
    if groups is None:
        return None
    seen = []
    for group in groups:
        workers = {key: value for key, value in group.get("workers", {}).items() if key != "template"}
        rest = {key: value for key, value in group.items() if key != "workers"}
        seen.append({**rest, "workers": workers} if workers else rest)
    return seen


def _own(said: Any, path: str) -> Any:
    """Return the value at ``path`` without inner fields that the table lists separately, or None if none is left."""
    value = _at(said, path)
    inner = _INNER[path]
    if not inner or value is None:
        return value
    rest = {key: one for key, one in value.items() if key not in inner}
    # The presence of an optional part matters, even if all of its fields have their defaults.
    return rest if rest or DEFAULTS[path] is None else None


def _at(said: Any, path: str) -> Any:
    """Return the value at ``path``, or None if it is absent."""
    for key in path.split("."):
        said = said.get(key)
        if said is None:
            return None
    return said
