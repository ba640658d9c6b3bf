"""The Job whose pods hold the collectors of a fleet without Ray: the index of a pod is the rank of its host.

No pod of it is ever done, and none ends it: a host exits with 0 on no account, and one that is lost is replaced under
its index, however often. ``parallelism`` and ``completions`` change together, which takes the highest indexes away.
"""

from __future__ import annotations

from typing import Final

from collectorfleet_api import names
from collectorfleet_api.packing.pods import Packing, Refusal, pack_groups
from collectorfleet_api.packing.quantity import format_cpu, format_memory, parse_quantity
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.code import import_code_first
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.gpus import GpuRequest, request_gpus
from collectorfleet_operator.children.hashes import cluster_hash_annotations
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.children.pod_template import PodRole, pod_template
from collectorfleet_operator.objects import Object

CONTAINER: Final = "collectors"
_ALWAYS: Final = 2**31 - 1
_TOKEN_VOLUME: Final = "hosts-token"  # noqa: S105  (a volume's name)
# The host itself and the process that collectors are forked from, which has imported torch.
_HOST_MEMORY_BYTES: Final = 512 * 2**20
# Nothing in these pods is worth waiting for.
_GRACE_SECONDS: Final = 5


def collectors_job(fleet: CollectorFleet) -> Object:
    """Raises ValueError where no pod can hold what the spec asks for: such a spec has problems, and is never built."""
    groups = pack_groups(fleet.spec.worker_groups)
    if isinstance(groups, Refusal):
        raise ValueError(f"{groups.field}: {groups.message}")
    packing = groups[names.WORKER_GROUP]
    job = manifest(
        fleet,
        JOB,
        names.collectors_name(fleet.metadata.name),
        spec={
            "completionMode": "Indexed",
            "completions": packing.pods,
            "parallelism": packing.pods,
            "backoffLimitPerIndex": _ALWAYS,
            "maxFailedIndexes": _ALWAYS,
            # Two hosts of one rank would push each other out.
            "podReplacementPolicy": "Failed",
            # Drained nodes and preemptions are replaced at once, and not after a pause that grows.
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
            "template": _template(fleet, packing),
        },
    )
    job["metadata"]["annotations"] = cluster_hash_annotations(fleet.spec)
    return job


def _template(fleet: CollectorFleet, packing: Packing) -> Object:
    request = request_gpus(fleet.spec.workers.gpu, packing.gpus_per_pod)
    claims = {"resourceClaims": request.pod_claims} if request.pod_claims else {}
    return pod_template(
        fleet,
        PodRole.WORKER,
        _container(fleet, packing, request),
        fleet.spec.workers.template,
        gpus=packing.gpus_per_pod,
        automountServiceAccountToken=False,
        restartPolicy="Never",
        terminationGracePeriodSeconds=_GRACE_SECONDS,
        volumes=[
            {"name": _TOKEN_VOLUME, "secret": {"secretName": names.collectors_name(fleet.metadata.name)}},
        ],
        **claims,
    )


def _container(fleet: CollectorFleet, packing: Packing, gpus: GpuRequest) -> Object:
    one = fleet.spec.collectors.resources
    memory = format_memory(int(-(-parse_quantity(one.memory) * packing.per_pod // 1)) + _HOST_MEMORY_BYTES)
    resources: Object = {
        "requests": {"cpu": format_cpu(parse_quantity(one.cpu) * packing.per_pod), "memory": memory},
        "limits": {"memory": memory, **gpus.limits},
    }
    if gpus.claims:
        resources["claims"] = gpus.claims
    return {
        "name": CONTAINER,
        "command": _command(fleet, packing.per_pod),
        "resources": resources,
        "env": [{"name": names.ENV_POD, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": _TOKEN_VOLUME, "mountPath": names.HOSTS_TOKEN_MOUNT, "readOnly": True}],
    }


def _command(fleet: CollectorFleet, collectors: int) -> list[str]:
    # Its rank is the pod's index, by $JOB_COMPLETION_INDEX.
    collect = [
        *("python", "-m", "collectorfleet.cli", "collect"),
        *("--driver", names.driver_address(fleet.metadata.name, fleet.metadata.namespace)),
        *("--token-file", f"{names.HOSTS_TOKEN_MOUNT}/{names.HOSTS_TOKEN_KEY}"),
        *("--collectors", str(collectors)),
    ]
    before = import_code_first(fleet)
    return ["/bin/bash", "-c", f"{before} && exec {' '.join(collect)}"] if before else collect
