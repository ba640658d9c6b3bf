"""Whom a field of the spec concerns: the parts of a running fleet that are made from it.

A part has a changed field once it is made anew; what no part is made from is followed while all of them run. A field
may concern several: ``collectors.resources`` is what an actor asks for, and how large its pod is. ``code`` concerns
all: it is mounted into every pod, and a pod keeps the ConfigMap that it was made with.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from collectorfleet_api.rules.hash_defaults import DEFAULTS, without_defaults
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec


class Part(StrEnum):
    """What is made anew by itself."""

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

# By path below `spec`, as manifests have it; a path stands for everything in it that has no line of its own.
CONCERNS: Final[Mapping[str, frozenset[Part]]] = {
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
    # But for templates, as the driver sees them; pods are made from the spec that each group has, see `of_group`.
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
    # That of evaluators is merged over it.
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
    # No learner leaves its pod while the driver runs: what makes their pods anew starts the driver anew.
    "learners.maxPolicies": _DRIVER_AND_LEARNERS,
    "learners.gpus": _DRIVER_AND_LEARNERS,
    "learners.shards": _DRIVER_AND_LEARNERS,
    "learners.resources": _DRIVER_AND_LEARNERS,
    "learners.replay.resources": _DRIVER_AND_LEARNERS,
    "learners.template": _DRIVER_AND_LEARNERS,
    "evaluation": _DRIVER,
    # No driver takes up evaluators that come or go: what makes more, or larger pods, starts the driver anew.
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


def fields_by_part(spec: CollectorFleetSpec) -> dict[Part, dict[str, Any]]:
    """What each part is made from: the values of its fields, by path.

    Fields at the default that they were introduced with are left out. So neither a release with more fields nor a
    release with other defaults sees a changed spec.
    """
    said = without_defaults(spec.model_dump(mode="json", by_alias=True))
    found = {path: _own(said, path) for path in CONCERNS}
    found["collectors.groups"] = _without_templates(found["collectors.groups"])
    return {
        part: {path: value for path, value in found.items() if value is not None and part in CONCERNS[path]}
        for part in Part
    }


def _without_templates(groups: list[Any] | None) -> list[Any] | None:
    """Groups as the driver has them; what only their pods see is left out."""
    if groups is None:
        return None
    seen = []
    for group in groups:
        workers = {key: value for key, value in group.get("workers", {}).items() if key != "template"}
        rest = {key: value for key, value in group.items() if key != "workers"}
        seen.append({**rest, "workers": workers} if workers else rest)
    return seen


def _own(said: Any, path: str) -> Any:
    """The value at ``path`` without what has a line of its own; None where that is absent."""
    value = _at(said, path)
    inner = {row.removeprefix(f"{path}.") for row in CONCERNS if row.startswith(f"{path}.")}
    if not inner or value is None:
        return value
    rest = {key: one for key, one in value.items() if key not in inner}
    # That an optional part is there says something, though all of it is at its default.
    return rest if rest or DEFAULTS[path] is None else None


def _at(said: Any, path: str) -> Any:
    """The value at ``path``; None where it is absent."""
    for key in path.split("."):
        said = said.get(key)
        if said is None:
            return None
    return said
