"""The worker group of evaluators in the RayCluster.

A pod has one evaluator, or all evaluators that share the pod's GPUs. A custom Ray resource has one unit per evaluator.
Because of this resource, Ray places evaluators only in these pods. Ray places no collectors in these pods.
"""

from __future__ import annotations

import json

from collectorfleet_api import names
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.packing.resources import worker_pod_resources
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.gpus import request_gpus
from collectorfleet_operator.children.hashes import group_hash
from collectorfleet_operator.children.merge import overlaid
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.ray_pod import ray_pod_template
from collectorfleet_operator.children.worker_group import MAX_PODS, TEMPLATE_LABEL, worker_container
from collectorfleet_operator.objects import Object


def evaluator_groups(fleet: CollectorFleet) -> list[Object]:
    """Return the items of ``workerGroupSpecs`` for evaluators, if the fleet has evaluators.

    Raises ValueError if no pod is large enough for an evaluator. Validation has already reported such a spec.
    """
    evaluation, packing = fleet.spec.evaluation, fleet.spec.evaluator_pods
    if evaluation is None or packing is None:
        return []
    if isinstance(packing, Refusal):
        raise ValueError(f"spec.evaluation.resources.gpu: {packing.message}")
    one = evaluation.resources
    pod = worker_pod_resources(one.cpu, one.memory, packing.per_pod, packing.gpus_per_pod)
    request = request_gpus(fleet.spec.workers.gpu, pod.gpus)
    claims = {"resourceClaims": request.pod_claims} if request.pod_claims else {}
    container = worker_container(pod, request)
    template = overlaid(fleet.spec.workers.template, evaluation.template)
    made = ray_pod_template(fleet, PodRole.EVALUATOR, container, template, gpus=pod.gpus, **claims)
    made["metadata"]["labels"][TEMPLATE_LABEL] = group_hash(fleet.spec, names.EVALUATOR_GROUP)
    return [
        {
            "groupName": names.EVALUATOR_GROUP,
            "replicas": packing.pods,
            "minReplicas": 0,
            "maxReplicas": MAX_PODS,
            "rayStartParams": {
                "num-cpus": str(packing.per_pod * whole_cpus(one.cpu)),
                "num-gpus": str(pod.gpus),
                "object-store-memory": str(pod.object_store_bytes),
                # The JSON is quoted, because KubeRay inserts the text into a shell command line.
                "resources": f"'{json.dumps({names.EVALUATOR_RESOURCE: packing.per_pod})}'",
            },
            "template": made,
        }
    ]
