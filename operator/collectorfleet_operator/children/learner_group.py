"""The worker group of learners in the RayCluster. All actors of a learner shard run in one pod, without collectors.

A custom Ray resource has one unit per actor. Because of this resource, Ray places learners only in these pods. Ray
places no collectors in these pods.
"""

from __future__ import annotations

import json

from collectorfleet_api import names
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.checkpoints import checkpoint_mounts, checkpoint_volumes
from collectorfleet_operator.children.gpus import request_gpus
from collectorfleet_operator.children.hashes import group_hash
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.ray_pod import ray_pod_template
from collectorfleet_operator.children.worker_group import MAX_PODS, TEMPLATE_LABEL, worker_container
from collectorfleet_operator.objects import Object


def learner_groups(fleet: CollectorFleet) -> list[Object]:
    """Return the item of ``workerGroupSpecs`` for learners as a list, or an empty list if the fleet has no learners.

    Raises ValueError if the learners cannot be split into shards. Validation has already reported such a spec.
    """
    learners = fleet.spec.learners
    if learners is None:
        return []
    pods = learners.pods
    if isinstance(pods, Refusal):
        raise ValueError(f"{pods.field}: {pods.message}")
    request = request_gpus(fleet.spec.workers.gpu, pods.resources.gpus)
    kept = fleet.spec.driver.checkpoint
    container = worker_container(pods.resources, request)
    mounts, volumes = checkpoint_mounts(kept), checkpoint_volumes(kept)
    pod: Object = {}
    if mounts:
        container["volumeMounts"] = mounts
        pod["volumes"] = volumes
    if request.pod_claims:
        pod["resourceClaims"] = request.pod_claims
    made = ray_pod_template(fleet, PodRole.LEARNER, container, learners.template, gpus=pods.resources.gpus, **pod)
    made["metadata"]["labels"][TEMPLATE_LABEL] = group_hash(fleet.spec, names.LEARNER_GROUP)
    return [
        {
            "groupName": names.LEARNER_GROUP,
            "replicas": pods.pods,
            "minReplicas": 0,
            "maxReplicas": MAX_PODS,
            "rayStartParams": {
                "num-cpus": str(pods.ray_cpus),
                "num-gpus": str(pods.resources.gpus),
                "object-store-memory": str(pods.resources.object_store_bytes),
                # The JSON is quoted, because KubeRay inserts the text into a shell command line.
                "resources": f"'{json.dumps({names.LEARNER_RESOURCE: pods.actors})}'",
            },
            "template": made,
        }
    ]
