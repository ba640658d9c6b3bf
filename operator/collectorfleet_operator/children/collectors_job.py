"""The Job whose pods run the collectors of a fleet without Ray.

Each pod has one host process, whose rank is the pod's index. The Job never completes and never fails: a host never
exits with 0, and the Job replaces a lost host without a limit. A terminating pod counts as lost, because the Job would
otherwise wait for a lost node. If two hosts have the same rank, the driver uses the newer host. The operator
changes ``parallelism`` and ``completions`` together, so that a smaller Job loses the pods with the highest indexes.
"""

from __future__ import annotations

import math
from typing import Final

from collectorfleet_api import names
from collectorfleet_api.packing.pods import Packing, pack_groups
from collectorfleet_api.packing.quantity import format_cpu, format_memory, parse_quantity
from collectorfleet_api.packing.refusal import Refusal
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.code import import_code_first
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.children.gpus import GpuRequest, request_gpus
from collectorfleet_operator.children.group_sizes import COLLECTORS_PER_POD
from collectorfleet_operator.children.hashes import cluster_hash_annotations
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.children.pod_template import PodRole, pod_template
from collectorfleet_operator.children.token_secret import token_name
from collectorfleet_operator.objects import Object

CONTAINER: Final = "collectors"
# Kubernetes sets this label on each pod of an Indexed Job.
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
_ALWAYS: Final = 2**31 - 1
_TOKEN_VOLUME: Final = "hosts-token"  # noqa: S105  (a volume's name)
_SHM_VOLUME: Final = "shm"
# Overhead of two processes: the host, and a process with torch. The host forks collectors from the second process.
_HOST_MEMORY_BYTES: Final = 512 * 2**20
# The grace period is short, because these pods have nothing to save.
_GRACE_SECONDS: Final = 5


def collectors_job(fleet: CollectorFleet) -> Object:
    """Return the manifest of the collectors' Job.

    Raises ValueError if no pod is large enough for a collector. Validation has already reported such a spec.
    """
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
            "podReplacementPolicy": "TerminatingOrFailed",
            "template": _template(fleet, packing),
        },
    )
    job["metadata"]["annotations"] = {
        **cluster_hash_annotations(fleet.spec),
        COLLECTORS_PER_POD: str(packing.per_pod),
    }
    return job


def _template(fleet: CollectorFleet, packing: Packing) -> Object:
    request = request_gpus(fleet.spec.workers.gpu, packing.gpus_per_pod)
    claims: Object = {"resourceClaims": request.pod_claims} if request.pod_claims else {}
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
            {"name": _TOKEN_VOLUME, "secret": {"secretName": token_name(fleet)}},
            # In this volume, the processes of one collector share rollouts. Its content counts as the container's
            # memory.
            {"name": _SHM_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": _memory(fleet, packing)}},
        ],
        **claims,
    )


def _container(fleet: CollectorFleet, packing: Packing, gpus: GpuRequest) -> Object:
    one = fleet.spec.collectors.resources
    memory = _memory(fleet, packing)
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
        "volumeMounts": [
            {"name": _TOKEN_VOLUME, "mountPath": names.HOSTS_TOKEN_MOUNT, "readOnly": True},
            {"name": _SHM_VOLUME, "mountPath": "/dev/shm"},  # noqa: S108  (a mount point)
        ],
    }


def _memory(fleet: CollectorFleet, packing: Packing) -> str:
    collectors = parse_quantity(fleet.spec.collectors.resources.memory) * packing.per_pod
    return format_memory(math.ceil(collectors) + _HOST_MEMORY_BYTES)


def _command(fleet: CollectorFleet, collectors: int) -> list[str]:
    # The host reads its rank from $JOB_COMPLETION_INDEX. The rank is the pod's index.
    collect = [
        *("python", "-m", "collectorfleet.cli", "collect"),
        *("--driver", names.driver_address(fleet.metadata.name, fleet.metadata.namespace)),
        *("--token-file", f"{names.HOSTS_TOKEN_MOUNT}/{names.HOSTS_TOKEN_KEY}"),
        *("--collectors", str(collectors)),
    ]
    before = import_code_first(fleet)
    return ["/bin/bash", "-c", f"{before} && exec {' '.join(collect)}"] if before else collect
