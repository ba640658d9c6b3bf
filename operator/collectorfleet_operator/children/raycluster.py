"""The RayCluster: a head without user code, groups of worker pods, and optional groups of learner and evaluator pods.

One Ray CPU is one collector slot. So ``RAY_enable_worker_prestart`` starts one Ray worker process per collector. These
processes import torch while the driver still starts, and collectors later run in them.
"""

from __future__ import annotations

import json
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.packing.pods import pack_groups
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.ray_settings import SYSTEM_CONFIG
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.built import BUILT, built_hash
from collectorfleet_operator.children.evaluator_group import evaluator_groups
from collectorfleet_operator.children.hashes import cluster_hash_annotations
from collectorfleet_operator.children.learner_group import learner_groups
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.children.pod_template import PodRole
from collectorfleet_operator.children.ray_pod import ray_pod_template
from collectorfleet_operator.children.worker_group import worker_group
from collectorfleet_operator.objects import Kind, Object

RAYCLUSTER: Final = Kind("ray.io/v1", "RayCluster", "rayclusters")
HEAD_CONTAINER: Final = "ray-head"

# For GCS, dashboard and their agents. Users with thousands of collectors raise the requests in `ray.head.template`.
_HEAD_REQUESTS: Final = {"cpu": "200m", "memory": "2Gi"}


def raycluster(fleet: CollectorFleet) -> Object:
    """Return the manifest of the RayCluster.

    Raises ValueError if no pod is large enough for a collector. Validation has already reported such a spec.
    """
    groups = pack_groups(fleet.spec.worker_groups)
    if isinstance(groups, Refusal):
        raise ValueError(f"{groups.field}: {groups.message}")
    cluster = manifest(
        fleet,
        RAYCLUSTER,
        names.cluster_name(fleet.metadata.name),
        spec={
            "rayVersion": fleet.spec.ray.version,
            "authOptions": {"mode": "token"},
            "headGroupSpec": _head_group(fleet),
            "workerGroupSpecs": [
                *(worker_group(fleet, name, packing) for name, packing in groups.items()),
                *learner_groups(fleet),
                *evaluator_groups(fleet),
            ],
        },
    )
    cluster["metadata"]["annotations"] = {
        **cluster_hash_annotations(fleet.spec),
        BUILT: built_hash(cluster["spec"]),
    }
    return cluster


def _head_group(fleet: CollectorFleet) -> Object:
    container: Object = {
        "name": HEAD_CONTAINER,
        "resources": {"requests": dict(_HEAD_REQUESTS), "limits": {"memory": _HEAD_REQUESTS["memory"]}},
    }
    return {
        "rayStartParams": {
            "num-cpus": "0",
            "num-gpus": "0",
            # The JSON is quoted, because KubeRay inserts the text into a shell command line. Nodes that join use the
            # head's config.
            "system-config": f"'{json.dumps(SYSTEM_CONFIG)}'",
        },
        "template": ray_pod_template(fleet, PodRole.HEAD, container, fleet.spec.ray.head.template, gpus=0),
    }
