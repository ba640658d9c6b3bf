"""What this release makes of a spec, as a hash on the RayCluster: another release makes something else of it.

A RayCluster that was built otherwise keeps what it is while its spec stays: an upgrade of the operator changes nothing
that runs. What somebody else changed in one that was built alike is put right.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from collectorfleet_api import names
from collectorfleet_operator.children.group_sizes import resized, sizes_of, worker_groups
from collectorfleet_operator.children.hashes import is_group_annotation
from collectorfleet_operator.objects import Object, annotation, metadata

BUILT: Final = f"{names.GROUP}/built"
# Kueue's, where there is one.
_NEVER_OURS: Final = "suspend"


def built_hash(spec: Object) -> str:
    """Of a RayCluster's spec, whatever its size."""
    groups = [
        {key: value for key, value in group.items() if key not in ("replicas", "scaleStrategy")}
        for group in worker_groups({"spec": spec}).values()
    ]
    text = json.dumps({**spec, "workerGroupSpecs": groups}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def as_it_was_built(stored: Object, desired: Object) -> Object:
    """Return ``desired``, or ``stored`` with that size if another release built it from the same spec."""
    if annotation(stored, BUILT) == annotation(desired, BUILT) or _is_of_another_spec(stored, desired):
        return desired
    kept = {key: value for key, value in stored["spec"].items() if key != _NEVER_OURS}
    same = {
        **desired,
        "metadata": {**metadata(desired), "annotations": dict(metadata(stored).get("annotations") or {})},
        "spec": kept,
    }
    return resized(same, sizes_of(desired))


def _is_of_another_spec(stored: Object, desired: Object) -> bool:
    now = {key: value for key, value in metadata(desired)["annotations"].items() if is_group_annotation(key)}
    return any(annotation(stored, key) != value for key, value in now.items())
