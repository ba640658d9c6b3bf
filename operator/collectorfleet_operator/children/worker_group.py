"""A worker group of the RayCluster: pods of one kind, as many as its collectors need."""

from __future__ import annotations

import json
from typing import Final

from collectorfleet_api import names, ray_settings
from collectorfleet_api.packing.pods import Packing
from collectorfleet_api.packing.quantity import format_cpu, format_memory
from collectorfleet_api.packing.resources import PodResources, worker_pod_resources
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.gpus import GpuRequest, request_gpus
from collectorfleet_operator.children.grouped import fleet_of_group
from collectorfleet_operator.children.hashes import group_hash
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.ray_pod import ray_pod_template
from collectorfleet_operator.objects import Object, label

# What KubeRay writes onto the pods of a group.
GROUP_LABEL: Final = "ray.io/group"
TEMPLATE_LABEL: Final = f"{names.GROUP}/template"
WORKER_CONTAINER: Final = "ray-worker"

MAX_PODS: Final = 2**31 - 1
_PRESTART: Final = [{"name": name, "value": value} for name, value in ray_settings.PRESTART.items()]


def worker_group(fleet: CollectorFleet, name: str, packing: Packing) -> Object:
    """An item of ``workerGroupSpecs`` whose collectors are packed as ``packing`` says."""
    label_hash, resources = group_hash(fleet.spec, name), _ray_resources(fleet, name, packing)
    fleet = fleet_of_group(fleet, name)
    one = fleet.spec.collectors.resources
    pod = worker_pod_resources(one.cpu, one.memory, packing.per_pod, packing.gpus_per_pod)
    template = fleet.spec.workers.template
    request = request_gpus(fleet.spec.workers.gpu, pod.gpus)
    claims = {"resourceClaims": request.pod_claims} if request.pod_claims else {}
    container = {**worker_container(pod, request), "env": _PRESTART}
    made = ray_pod_template(fleet, PodRole.WORKER, container, template, gpus=pod.gpus, **claims)
    made["metadata"]["labels"][TEMPLATE_LABEL] = label_hash
    return {
        "groupName": name,
        "replicas": packing.pods,
        "minReplicas": 0,
        "maxReplicas": MAX_PODS,
        "rayStartParams": {
            "num-cpus": str(packing.per_pod),
            "num-gpus": str(pod.gpus),
            "object-store-memory": str(pod.object_store_bytes),
            # KubeRay pastes this into a shell command line.
            "resources": f"'{json.dumps(resources)}'",
        },
        "template": made,
    }


def _ray_resources(fleet: CollectorFleet, name: str, packing: Packing) -> dict[str, int]:
    """A unit for each collector that fits; of a fleet with groups, one that is the group's alone, too; custom ones."""
    of_group = {names.group_resource(name): packing.per_pod} if fleet.spec.collectors.groups else {}
    custom = fleet.spec.of_group(name).workers.custom_per_pod or {}
    return {names.COLLECTOR_RESOURCE: packing.per_pod, **of_group, **custom}


def template_label_of(pod: Object) -> str | None:
    """Which template a pod was made from, or a group makes its pods from: a hash of the spec's fields."""
    return label(pod, TEMPLATE_LABEL)


def collectors_per_pod(group: Object) -> int:
    """How many collectors each pod of a group holds, also of one that was made from an older spec."""
    return int(group["rayStartParams"]["num-cpus"])


def worker_container(pod: PodResources, gpus: GpuRequest) -> Object:
    """The container that Ray runs in."""
    memory = format_memory(pod.memory_bytes)
    # No CPU limit: a collector that may use idle CPUs starts and steps faster, and takes none from its neighbours.
    resources: Object = {
        "requests": {"cpu": format_cpu(pod.cpus), "memory": memory},
        "limits": {"memory": memory, **gpus.limits},
    }
    if gpus.claims:
        resources["claims"] = gpus.claims
    return {"name": WORKER_CONTAINER, "resources": resources}
