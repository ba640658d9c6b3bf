"""The RayCluster: a head that runs no user code, and worker pods with one Ray CPU for each collector.

One Ray CPU is one collector slot, so the Ray workers that ``RAY_enable_worker_prestart`` starts, one for each CPU, are
the processes that collectors will run in: they import torch while the driver still starts.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.packing.pods import Packing
from collectorfleet_api.packing.quantity import format_cpu, format_memory
from collectorfleet_api.packing.resources import worker_pod_resources
from collectorfleet_api.ray_settings import SYSTEM_CONFIG
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.common import PER_POD_ANNOTATION, RUN_ANNOTATION, manifest, run_of
from collectorfleet_operator.children.pod_template import import_code_first, pod_template
from collectorfleet_operator.objects import RAYCLUSTER, Object

HEAD_CONTAINER: Final = "ray-head"
WORKER_CONTAINER: Final = "ray-worker"
GPU_RESOURCE: Final = "nvidia.com/gpu"

# GCS, dashboard and their agents. Users with thousands of collectors raise it in `ray.head.template`.
_HEAD_REQUESTS: Final = {"cpu": "200m", "memory": "2Gi"}
# Nothing in these pods is worth waiting for, and `ray start --block` below a shell never sees the signal.
_GRACE_SECONDS: Final = 5
_MAX_PODS: Final = 2**31 - 1


def raycluster(fleet: CollectorFleet, packing: Packing) -> Object:
    """The RayCluster of a fleet whose collectors are packed as ``packing`` says."""
    cluster = manifest(
        fleet,
        RAYCLUSTER,
        fleet.metadata.name,
        spec={
            "rayVersion": fleet.spec.ray.version,
            "authOptions": {"mode": "token"},
            "headGroupSpec": {
                "rayStartParams": {
                    "num-cpus": "0",
                    "num-gpus": "0",
                    # KubeRay pastes this into a shell command line. Nodes that join take it over.
                    "system-config": f"'{json.dumps(SYSTEM_CONFIG)}'",
                },
                "template": _head_template(fleet),
            },
            "workerGroupSpecs": [_worker_group(fleet, packing)],
        },
    )
    cluster["metadata"]["annotations"] = {RUN_ANNOTATION: run_of(fleet), PER_POD_ANNOTATION: str(packing.per_pod)}
    return cluster


def with_worker_pods(cluster: Object, pods: int, to_delete: list[str]) -> Object:
    """The same RayCluster with another number of worker pods; those in ``to_delete`` are the ones to go."""
    changed = copy.deepcopy(cluster)
    group = worker_group(changed)
    group["replicas"] = pods
    group.pop("scaleStrategy", None)
    if to_delete:
        group["scaleStrategy"] = {"workersToDelete": sorted(to_delete)}
    return changed


def worker_group(cluster: Object) -> Object:
    found: Object = cluster["spec"]["workerGroupSpecs"][0]
    return found


def _head_template(fleet: CollectorFleet) -> Object:
    container: Object = {
        "name": HEAD_CONTAINER,
        "resources": {"requests": dict(_HEAD_REQUESTS), "limits": {"memory": _HEAD_REQUESTS["memory"]}},
    }
    return _template(fleet, "head", container, fleet.spec.ray.head.template, gpus=0)


def _worker_group(fleet: CollectorFleet, packing: Packing) -> Object:
    spec = fleet.spec
    one = spec.collectors.resources
    pod = worker_pod_resources(one.cpu, one.memory, packing.per_pod, packing.gpus_per_pod)
    memory = format_memory(pod.memory_bytes)
    limits: dict[str, Any] = {"memory": memory}
    if pod.gpus:
        limits[GPU_RESOURCE] = pod.gpus
    container: Object = {
        "name": WORKER_CONTAINER,
        # No CPU limit: a collector that may use idle CPUs starts and steps faster, and takes none from its neighbours.
        "resources": {"requests": {"cpu": format_cpu(pod.cpus), "memory": memory}, "limits": limits},
        "env": [
            # Ray imports these into every worker process before a collector asks for one.
            {"name": "RAY_preload_python_modules", "value": "torch,torchrl.collectors"},
            {"name": "RAY_enable_worker_prestart", "value": "1"},
        ],
    }
    return {
        "groupName": names.WORKER_GROUP,
        "replicas": packing.pods,
        "minReplicas": 0,
        "maxReplicas": _MAX_PODS,
        "rayStartParams": {
            "num-cpus": str(packing.per_pod),
            "num-gpus": str(pod.gpus),
            "object-store-memory": str(pod.object_store_bytes),
            # KubeRay pastes this into a shell command line.
            "resources": f"'{json.dumps({names.COLLECTOR_RESOURCE: packing.per_pod})}'",
        },
        "template": _template(fleet, "worker", container, spec.workers.template, gpus=pod.gpus),
    }


def _template(fleet: CollectorFleet, role: str, container: Object, user: Mapping[str, Any], *, gpus: int) -> Object:
    before_ray_start = import_code_first(fleet)
    if before_ray_start:
        # KubeRay runs a container's own command before its `ray start`, in the same shell.
        container = {**container, "command": [before_ray_start]}
    return pod_template(
        fleet,
        role,
        container,
        user,
        gpus=gpus,
        automountServiceAccountToken=False,
        terminationGracePeriodSeconds=_GRACE_SECONDS,
    )
