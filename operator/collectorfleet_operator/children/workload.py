"""The Workload that requests quota from Kueue for the driver, the head if there is one, and all worker pods.

One Workload for all pods avoids a deadlock. Kueue admits either a whole Workload or nothing of it. If a RayCluster and
a Job had Kueue's queue label, Kueue would create two Workloads. Each of two fleets could then get quota for its first
Workload and wait forever for quota for its second Workload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from enum import StrEnum
from typing import Final, assert_never

from collectorfleet_api import names
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.collectors_job import collectors_job
from collectorfleet_operator.children.driver_job import driver_job
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.children.raycluster import raycluster
from collectorfleet_operator.objects import Kind, Object, annotation


class KueueVersion(StrEnum):
    """The versions of Kueue's API that this operator supports, newest first.

    Kueue 0.14 serves only v1beta1, and 0.15 to 0.19 serve both versions. Kueue 0.20 will serve only v1beta2.
    """

    V1BETA2 = "v1beta2"
    V1BETA1 = "v1beta1"


KUEUE: Final = "kueue.x-k8s.io"
NEWEST_KUEUE: Final = KueueVersion.V1BETA2
_API: Final = f"{KUEUE}/{NEWEST_KUEUE}"
WORKLOAD: Final = Kind(_API, "Workload", "workloads")
FLAVOR: Final = Kind(_API, "ResourceFlavor", "resourceflavors", namespaced=False)
PRIORITY_CLASS: Final = Kind(_API, "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False)

DRIVER: Final = "driver"
HEAD: Final = "head"
_PODS_HASH: Final = f"{names.GROUP}/pods-hash"
# The fields of a pod that Kueue reads: its requests, its placement and its priority.
_POD: Final = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "overhead", "resources", "resourceClaims"),
    "priorityClassName",
)
_CONTAINER: Final = ("name", "image", "resources", "restartPolicy")


def newest_served(versions: Collection[str]) -> KueueVersion | None:
    """Return the newest version that both Kueue and this operator support, or None if there is none."""
    return next((version for version in KueueVersion if version in versions), None)


def queue_of(fleet: CollectorFleet) -> str:
    """Return the LocalQueue from the fleet's labels, or an empty text without a queue."""
    return fleet.metadata.labels.get(names.QUEUE_LABEL, "")


def priority_class_of(fleet: CollectorFleet) -> str:
    """Return the WorkloadPriorityClass from the fleet's labels, or an empty text without one."""
    return fleet.metadata.labels.get(names.PRIORITY_LABEL, "")


def workers_of(group: str) -> str:
    """Return the name of the pod set of a worker group."""
    return f"workers-{group}"


def workload(fleet: CollectorFleet, version: KueueVersion) -> Object:
    """Return the manifest of the Workload, without the priority, which only the cluster knows."""
    pod_sets = _pod_sets(fleet)
    made = manifest(
        fleet,
        WORKLOAD.at(version),
        names.workload_name(fleet.metadata.name),
        spec={"queueName": queue_of(fleet), "podSets": pod_sets},
    )
    made["metadata"]["annotations"] = {_PODS_HASH: _hash(pod_sets)}
    return made


def with_priority(made: Object, name: str, value: int, version: KueueVersion) -> Object:
    """Return the Workload with the name and the value of its WorkloadPriorityClass."""
    return {**made, "spec": {**made["spec"], **_priority_class(name, version), "priority": value}}


def counts_of(made: Object) -> dict[str, int]:
    """Return the number of pods in each pod set of a Workload."""
    return {one["name"]: int(one.get("count", 1)) for one in (made.get("spec") or {}).get("podSets") or []}


def pods_hash_of(made: Object) -> str | None:
    """Return the hash of the pod templates for which a Workload requests quota.

    The hash does not depend on pod counts.
    """
    return annotation(made, _PODS_HASH)


def _priority_class(name: str, version: KueueVersion) -> Object:
    match version:
        case KueueVersion.V1BETA2:
            return {"priorityClassRef": {"group": KUEUE, "kind": PRIORITY_CLASS.kind, "name": name}}
        case KueueVersion.V1BETA1:
            return {"priorityClassName": name, "priorityClassSource": f"{KUEUE}/workloadpriorityclass"}
        case _:
            assert_never(version)


def _pod_sets(fleet: CollectorFleet) -> list[Object]:
    found = [(DRIVER, 1, driver_job(fleet)["spec"]["template"])]
    if fleet.spec.has_ray:
        cluster = raycluster(fleet)["spec"]
        found.append((HEAD, 1, cluster["headGroupSpec"]["template"]))
        found += [
            (workers_of(one["groupName"]), one["replicas"], one["template"]) for one in cluster["workerGroupSpecs"]
        ]
    else:
        job = collectors_job(fleet)["spec"]
        found.append((workers_of(names.WORKER_GROUP), job["completions"], job["template"]))
    return [{"name": name, "count": count, "template": _trimmed(template)} for name, count, template in found]


def _trimmed(template: Object) -> Object:
    spec = template["spec"]
    pod = {key: spec[key] for key in _POD if key in spec}
    for containers in ("initContainers", "containers"):
        if spec.get(containers):
            pod[containers] = [{key: one[key] for key in _CONTAINER if key in one} for one in spec[containers]]
    return {"spec": pod}


def _hash(pod_sets: list[Object]) -> str:
    """Return the hash of the pod templates, without the pod counts."""
    text = json.dumps({one["name"]: one["template"] for one in pod_sets}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
