"""The fleet as Kueue counts it: one Workload for the driver, the head where there is one, and all worker pods.

Kueue admits a Workload as a whole or not at all. A RayCluster and a Job with its label would be two Workloads. Two
fleets might then each hold one and wait for the other for ever.
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
    """The versions of Kueue's API that this operator knows, newest first.

    Kueue 0.14 serves v1beta1 alone, and 0.15 to 0.19 serve both. Kueue 0.20 is to serve v1beta2 alone.
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
# What Kueue reads of a pod: how much it requests, which nodes take it, and its priority.
_POD: Final = (
    *("nodeSelector", "affinity", "tolerations", "runtimeClassName", "overhead", "resources", "resourceClaims"),
    "priorityClassName",
)
_CONTAINER: Final = ("name", "image", "resources", "restartPolicy")


def newest_served(versions: Collection[str]) -> KueueVersion | None:
    """Return the newest version that both sides know; None if there is none."""
    return next((version for version in KueueVersion if version in versions), None)


def queue_of(fleet: CollectorFleet) -> str:
    """The LocalQueue that the fleet is to wait in; empty if it is to wait in none."""
    return fleet.metadata.labels.get(names.QUEUE_LABEL, "")


def priority_class_of(fleet: CollectorFleet) -> str:
    """The WorkloadPriorityClass by which it waits; empty if it has none."""
    return fleet.metadata.labels.get(names.PRIORITY_LABEL, "")


def workers_of(group: str) -> str:
    """What Kueue calls the pods of a worker group."""
    return f"workers-{group}"


def workload(fleet: CollectorFleet, version: KueueVersion) -> Object:
    """Return the Workload without its priority, which is a number that only the cluster knows."""
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
    """Return the Workload of a fleet with a WorkloadPriorityClass."""
    return {**made, "spec": {**made["spec"], **_priority_class(name, version), "priority": value}}


def counts_of(made: Object) -> dict[str, int]:
    """How many pods there are of each kind."""
    return {one["name"]: int(one.get("count", 1)) for one in (made.get("spec") or {}).get("podSets") or []}


def pods_hash_of(made: Object) -> str | None:
    """The hash of the pods that quota is requested for, whatever their number."""
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
    """Of the pods, whatever their number."""
    text = json.dumps({one["name"]: one["template"] for one in pod_sets}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
