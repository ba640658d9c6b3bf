"""A worker group of the RayCluster, with the pods that the group's collectors need."""

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

# KubeRay sets this label on the pods of a group.
GROUP_LABEL: Final = "ray.io/group"
TEMPLATE_LABEL: Final = f"{names.GROUP}/template"
WORKER_CONTAINER: Final = "ray-worker"

MAX_PODS: Final = 2**31 - 1
_PRESTART: Final = [{"name": name, "value": value} for name, value in ray_settings.PRESTART.items()]


def worker_group(fleet: CollectorFleet, name: str, packing: Packing) -> Object:
    """Return the item of ``workerGroupSpecs`` for the group ``name``. ``packing``: how its collectors are packed."""
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
            # The JSON is quoted, because KubeRay inserts the text into a shell command line.
            "resources": f"'{json.dumps(resources)}'",
        },
        "template": made,
    }


def _ray_resources(fleet: CollectorFleet, name: str, packing: Packing) -> dict[str, int]:
    """Return the custom Ray resources of each pod.

    One resource has a unit per collector. If the fleet has groups, the group's own resource also has one unit per
    collector. The user's custom resources are added.
    """
    of_group = {names.group_resource(name): packing.per_pod} if fleet.spec.collectors.groups else {}
    custom = fleet.spec.of_group(name).workers.custom_per_pod or {}
    return {names.COLLECTOR_RESOURCE: packing.per_pod, **of_group, **custom}


def template_label_of(pod: Object) -> str | None:
    """Return the template label of a pod or pod template: a hash of the spec's fields from which the pod is made."""
    return label(pod, TEMPLATE_LABEL)


def collectors_per_pod(group: Object) -> int:
    """Return the number of collectors in each pod of a stored group. An older spec may have set this number."""
    return int(group["rayStartParams"]["num-cpus"])


def worker_container(pod: PodResources, gpus: GpuRequest) -> Object:
    """Return the container in which Ray runs."""
    memory = format_memory(pod.memory_bytes)
    # No CPU limit: a collector that may use idle CPUs starts and steps faster. CPU requests protect its neighbors.
    resources: Object = {
        "requests": {"cpu": format_cpu(pod.cpus), "memory": memory},
        "limits": {"memory": memory, **gpus.limits},
    }
    if gpus.claims:
        resources["claims"] = gpus.claims
    return {"name": WORKER_CONTAINER, "resources": resources}
