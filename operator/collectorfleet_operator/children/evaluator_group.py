"""The worker group of the RayCluster that holds evaluators: one in each pod, and no collector beside it.

One Ray resource is theirs alone, a unit in each pod: collectors land on no evaluator pod, and evaluators on no other.
"""

from __future__ import annotations

import json

from collectorfleet_api import names
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.packing.resources import worker_pod_resources
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.gpus import GpuRequest
from collectorfleet_operator.children.hashes import group_hash
from collectorfleet_operator.children.merge import overlaid
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.ray_pod import ray_pod_template
from collectorfleet_operator.children.worker_group import MAX_PODS, TEMPLATE_LABEL, worker_container
from collectorfleet_operator.objects import Object


def evaluator_groups(fleet: CollectorFleet) -> list[Object]:
    """Return the item of ``workerGroupSpecs``, where the fleet has evaluators."""
    evaluation = fleet.spec.evaluation
    if evaluation is None:
        return []
    one = evaluation.resources
    pod = worker_pod_resources(one.cpu, one.memory, per_pod=1, gpus=0)
    template = overlaid(fleet.spec.workers.template, evaluation.template)
    made = ray_pod_template(fleet, PodRole.EVALUATOR, worker_container(pod, GpuRequest()), template, gpus=pod.gpus)
    made["metadata"]["labels"][TEMPLATE_LABEL] = group_hash(fleet.spec, names.EVALUATOR_GROUP)
    return [
        {
            "groupName": names.EVALUATOR_GROUP,
            "replicas": evaluation.replicas,
            "minReplicas": 0,
            "maxReplicas": MAX_PODS,
            "rayStartParams": {
                "num-cpus": str(whole_cpus(one.cpu)),
                "num-gpus": str(pod.gpus),
                "object-store-memory": str(pod.object_store_bytes),
                # KubeRay pastes this into a shell command line.
                "resources": f"'{json.dumps({names.EVALUATOR_RESOURCE: 1})}'",
            },
            "template": made,
        }
    ]
