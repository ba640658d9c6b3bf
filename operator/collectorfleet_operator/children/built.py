"""An annotation of the RayCluster: the hash of the manifest that this release builds from the spec.

Other releases may build another manifest from the same spec. An upgrade of the operator must not change a running
RayCluster. So the operator leaves a RayCluster from another release unchanged until the spec changes. In a RayCluster
from this release, the operator reverts changes by other clients.
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
# Kueue sets this field.
_NEVER_OURS: Final = "suspend"


def built_hash(spec: Object) -> str:
    """Return the hash of a RayCluster's spec, without the sizes of its groups."""
    groups = [
        {key: value for key, value in group.items() if key not in ("replicas", "scaleStrategy")}
        for group in worker_groups({"spec": spec}).values()
    ]
    text = json.dumps({**spec, "workerGroupSpecs": groups}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def keep_manifest_of_other_release(stored: Object, desired: Object) -> Object:
    """Return ``stored`` with the desired sizes if another release built it from the same spec.

    Otherwise return ``desired``.
    """
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
