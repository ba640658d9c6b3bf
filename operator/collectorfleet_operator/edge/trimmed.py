"""The parts of objects that the operator reads.

The cache has only these parts, because a thousand fleets have ten thousand objects.

Most objects are pods. The operator reads only a pod's owner, state and requests. Objects of other kinds are compared
with their manifests, so the cache removes only the managed fields. An update that changes none of these parts is
ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.children.pod_template import POD
from collectorfleet_operator.children.raycluster import RAYCLUSTER
from collectorfleet_operator.objects import Kind, Object, metadata

_POD: Final = ("nodeName", "resources", "overhead")
_CONTAINER: Final = ("name", "resources", "restartPolicy")
_CONTAINERS: Final = ("initContainers", "containers")
_STATUS: Final = ("phase", "reason", "message", "conditions")
_CONTAINER_STATUS: Final = ("name", "ready", "restartCount", "state", "lastState")
_CONTAINER_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


def trimmed(kind: Kind, obj: Object) -> Object:
    """Return the object with its kind, but without its version and without the parts that the operator never reads."""
    kept = {key: value for key, value in metadata(obj).items() if key not in ("managedFields", "resourceVersion")}
    if kind == FLEET:
        # The managed fields show when the driver last reported.
        writers = metadata(obj).get("managedFields") or []
        kept["managedFields"] = [{k: v for k, v in writer.items() if k != "fieldsV1"} for writer in writers]
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **obj, "metadata": kept}
    trim = _TRIMMED.get(kind)
    return trim(whole) if trim else whole


def _pod(pod: Object) -> Object:
    pod["metadata"].pop("annotations", None)
    return {
        **pod,
        "spec": _parts(pod.get("spec") or {}, _POD, _CONTAINERS, _CONTAINER),
        "status": _parts(pod.get("status") or {}, _STATUS, _CONTAINER_STATUSES, _CONTAINER_STATUS),
    }


def _lease(lease: Object) -> Object:
    # The renewal time changes every few seconds. The class Renewals records these changes by its own clock.
    spec = {key: value for key, value in (lease.get("spec") or {}).items() if key != "renewTime"}
    return {**lease, "spec": spec}


def _cluster(cluster: Object) -> Object:
    # The operator reads the state from the pods, not from the status that KubeRay writes.
    return {key: value for key, value in cluster.items() if key != "status"}


def _parts(of: Object, fields: Collection[str], lists: Collection[str], of_each: Collection[str]) -> Object:
    kept = _only(of, fields)
    return kept | {name: [_only(one, of_each) for one in of[name]] for name in lists if of.get(name)}


def _only(of: Object, fields: Collection[str]) -> Object:
    return {field: of[field] for field in fields if field in of}


_TRIMMED: Final[Mapping[Kind, Callable[[Object], Object]]] = {POD: _pod, LEASE: _lease, RAYCLUSTER: _cluster}
