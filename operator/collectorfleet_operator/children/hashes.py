"""The hash annotations of children.

Each part of a fleet (driver, head, every group) has a hash of its fields in the spec.

A running driver cannot change its spec, and needs a RayCluster that fits its spec. So the driver's Job has the hashes
of all parts. The next driver uses the same RayCluster as long as the parts of the RayCluster do not change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.rules.concerns import Part, fields_by_part
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Evaluation, Learners
from collectorfleet_operator.children.by_identity import by_identity
from collectorfleet_operator.children.grouped import spec_of_group
from collectorfleet_operator.objects import Object, annotation, metadata

_PREFIX: Final = f"{names.GROUP}/hash-"
_DRIVER: Final = f"{_PREFIX}{Part.DRIVER}"
# The scheme by which a child was hashed. Without this annotation, a child has hashes of the first scheme, which
# this release uses. A release with another scheme writes the annotation, and still supports the first scheme.
_SCHEME: Final = f"{names.GROUP}/scheme-of-hashes"
_FIRST_SCHEME: Final = "1"


@dataclass(frozen=True, slots=True)
class StoredHashes:
    """The hashes from a child's annotations.

    ``by_part`` maps the name of a part to its hash. ``is_known``: this release knows the scheme of the hashes.
    """

    by_part: Mapping[str, str]
    is_known: bool = True


@by_identity
def hashes_of(spec: CollectorFleetSpec) -> Mapping[str, str]:
    """Return a hash of the spec's fields for each part: the driver, the head and every worker group.

    The hashes do not depend on manifests: a release that builds other manifests must not restart every fleet.
    """
    fields = fields_by_part(spec)
    hashes = {part.value: _hash(fields[part]) for part in (Part.DRIVER, Part.HEAD)}
    groups = {name: fields_by_part(spec_of_group(spec, name))[Part.GROUP] for name in spec.group_names}
    if spec.learners is not None:
        groups[names.LEARNER_GROUP] = {**fields[Part.LEARNERS], **_of_learner_pods(spec, spec.learners)}
    if spec.evaluation is not None and spec.has_ray:
        groups[names.EVALUATOR_GROUP] = {**fields[Part.EVALUATORS], **_of_evaluator_pods(fields, spec.evaluation)}
    return hashes | {group_part(name): _hash(found) for name, found in groups.items()}


def _of_learner_pods(spec: CollectorFleetSpec, learners: Learners) -> dict[str, Any]:
    """Return fields that belong to other parts of the fleet and also affect learner pods."""
    kept = spec.driver.checkpoint
    return {"places": learners.places, "checkpoints": kept and [kept.claim_name, kept.sub_path]}


def _of_evaluator_pods(fields: Mapping[Part, Mapping[str, Any]], evaluation: Evaluation) -> dict[str, Any]:
    """Return fields that belong to other parts of the fleet and also affect evaluator pods with GPUs.

    The hash of evaluator pods without GPUs does not depend on these fields, as in earlier releases.
    """
    gpu = fields[Part.GROUP].get("workers.gpu")
    return {"workers.gpu": gpu} if evaluation.resources.gpu and gpu is not None else {}


def group_hash(spec: CollectorFleetSpec, name: str) -> str:
    """Return the hash of the fields from which the operator makes one worker group."""
    return hashes_of(spec)[group_part(name)]


def group_part(name: str) -> str:
    """Return the name of the part for one worker group."""
    return f"{Part.GROUP}-{name}"


def is_group(part: str) -> bool:
    return part.startswith(f"{Part.GROUP}-")


def is_group_annotation(key: str) -> bool:
    return key.startswith(f"{_PREFIX}{Part.GROUP}-")


def hash_annotations(spec: CollectorFleetSpec) -> dict[str, str]:
    """Return the annotations with the hashes of all parts."""
    return {f"{_PREFIX}{part}": found for part, found in hashes_of(spec).items()}


def cluster_hash_annotations(spec: CollectorFleetSpec) -> dict[str, str]:
    """Return the annotations with the hashes of all parts except the driver."""
    return {key: found for key, found in hash_annotations(spec).items() if key != _DRIVER}


def changed_parts(stored: StoredHashes, spec: CollectorFleetSpec) -> set[str]:
    """Return the changed parts: the hash of such a part, computed from ``spec``, differs from the child's stored hash.

    The set is empty if a newer release hashed the child by a scheme that this release does not know.
    """
    if not stored.is_known:
        return set()
    before, now = stored.by_part, hashes_of(spec)
    return {part for part in before.keys() | now.keys() if before.get(part) != now.get(part)}


def changed_cluster_parts(stored: StoredHashes, spec: CollectorFleetSpec) -> set[str]:
    """Return :func:`changed_parts` without the driver."""
    return changed_parts(stored, spec) - {Part.DRIVER.value}


def hashes_on(child: Object) -> StoredHashes:
    """Return the hashes in the annotations of a stored child."""
    annotations: dict[str, str] = metadata(child).get("annotations") or {}
    by_part = {key.removeprefix(_PREFIX): found for key, found in annotations.items() if key.startswith(_PREFIX)}
    return StoredHashes(by_part, annotation(child, _SCHEME) in (None, _FIRST_SCHEME))


def _hash(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]
