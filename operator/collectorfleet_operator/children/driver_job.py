"""The driver's Job: one pod that gathers and trains.

With Ray, the pod joins the Ray cluster as a node without CPUs. Without Ray, the hosts of collectors connect to the pod.

Kubernetes restarts the driver after a loss of infrastructure. Exit code 64 means that the user's code or spec is wrong,
so a retry would not help. Exit code 65 means that the driver ended on the operator's order. Exit code 143 means that
the pod was deleted and the driver wrote its checkpoint. Another driver then resumes. This end does not count
against the backoff limit.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final

from collectorfleet_api import names
from collectorfleet_api.packing.quantity import format_cpu, format_memory, parse_quantity
from collectorfleet_api.times import parse_time
from collectorfleet_api.v1alpha1 import CollectorFleet, Driver
from collectorfleet_operator.children.checkpoints import checkpoint_mounts, checkpoint_volumes
from collectorfleet_operator.children.code import import_code_first
from collectorfleet_operator.children.gpus import GPU_RESOURCE
from collectorfleet_operator.children.grouped import templates_of_groups
from collectorfleet_operator.children.hashes import hash_annotations, is_group_annotation
from collectorfleet_operator.children.owner import manifest
from collectorfleet_operator.children.pod_template import PodRole, pod_template
from collectorfleet_operator.children.token_secret import token_name
from collectorfleet_operator.objects import Kind, Object, annotation, created_at, metadata, started_at

JOB: Final = Kind("batch/v1", "Job", "jobs")
CONTAINER: Final = names.DRIVER_CONTAINER
# The generation of the spec that the driver runs. A newer generation, for example with other replicas, may need no new
# driver.
GENERATION_ANNOTATION: Final = f"{names.GROUP}/generation"
_WORKERS: Final = f"{names.GROUP}/workers-template"
_GROUPS: Final = f"{names.GROUP}/workers-templates-of-groups"
_EVALUATORS: Final = f"{names.GROUP}/evaluators-template"
_RESTARTS: Final = f"{names.GROUP}/restarts"
# The time at which the first Job of the same run began.
_BEGAN: Final = f"{names.GROUP}/began"
_TOKEN_VOLUME: Final = "ray-token"  # noqa: S105  (a volume's name, as templates may have it)
_SPEC_VOLUME: Final = "spec"
_SHM_VOLUME: Final = "shm"
# A checkpoint may take minutes to write. The pod still ends as soon as the driver has ended.
_GRACE_SECONDS_WITH_CHECKPOINT: Final = 120
# Kubernetes' default.
_GRACE_SECONDS: Final = 30
_GRACE_FIELD: Final = "terminationGracePeriodSeconds"
_SPEC_ITEM: Final = {
    "path": names.SPEC_FILE,
    "fieldRef": {"fieldPath": f"metadata.annotations['{names.SPEC_ANNOTATION}']"},
}
# A Prometheus that finds its targets by annotations reads these annotations. A PodMonitor refers to the port by name.
_SCRAPED: Final = {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": str(names.METRICS_PORT),
    "prometheus.io/path": "/metrics",
}


def driver_job(fleet: CollectorFleet) -> Object:
    job = manifest(
        fleet,
        JOB,
        names.driver_name(fleet.metadata.name),
        spec={
            "backoffLimit": fleet.spec.backoff_limit,
            # The next driver starts after the previous driver has ended. Otherwise two drivers would publish weights.
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": _failure_rules(fleet)},
            "template": _template(fleet),
        },
    )
    job["metadata"]["annotations"] = {
        **hash_annotations(fleet.spec),
        GENERATION_ANNOTATION: str(fleet.metadata.generation),
    }
    return job


def next_driver_job(fleet: CollectorFleet, generation: str | None, restarts: int, began: str) -> Object:
    """Return the driver's next Job, which runs the spec of ``fleet``. ``restarts`` is the total number of restarts.

    ``generation`` is the generation of the running spec. ``began`` is the time at which the run began, in Kubernetes'
    format. Both come from the previous Job.
    """
    job = driver_job(fleet)
    job["metadata"]["annotations"] |= {
        GENERATION_ANNOTATION: generation or str(fleet.metadata.generation),
        _RESTARTS: str(restarts),
        _BEGAN: began,
    }
    return job


def restarts_before(job: Object) -> int:
    """Return the number of driver pods that were lost under earlier Jobs of the same run."""
    return int(annotation(job, _RESTARTS) or 0)


def run_began_at(job: Object) -> datetime:
    """Return when the first Job of this run began."""
    return parse_time(annotation(job, _BEGAN)) or started_at(job) or created_at(job)


def began_text(job: Object) -> str:
    """Return when the first Job of this run began, in Kubernetes' format."""
    of_controller = (job.get("status") or {}).get("startTime")
    return annotation(job, _BEGAN) or str(of_controller or metadata(job).get("creationTimestamp", ""))


def _failure_rules(fleet: CollectorFleet) -> list[Object]:
    ends = {CONTAINER: [names.EXIT_USER_ERROR, names.EXIT_STOPPED]}
    if fleet.spec.code is not None and fleet.spec.code.tree is not None:
        ends[names.CODE_CONTAINER] = [names.EXIT_USER_ERROR]
    rules = [
        {"action": "FailJob", "onExitCodes": {"containerName": container, "operator": "In", "values": codes}}
        for container, codes in ends.items()
    ]
    # Drained nodes and preemptions do not count against the backoff limit. If a client deletes the pod and the driver
    # then exits with EXIT_SIGTERM, this end does not count either.
    in_order = {"containerName": CONTAINER, "operator": "In", "values": [names.EXIT_SIGTERM]}
    return [
        *rules,
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Ignore", "onExitCodes": in_order},
    ]


def _template(fleet: CollectorFleet) -> Object:
    driver = fleet.spec.driver
    template = pod_template(
        fleet,
        PodRole.DRIVER,
        _container(fleet),
        driver.template,
        gpus=int(driver.resources.gpu),
        annotations=_SCRAPED,
        restartPolicy="Never",
        serviceAccountName=names.driver_name(fleet.metadata.name),
        volumes=[
            *_token_volumes(fleet),
            {"name": _SPEC_VOLUME, "downwardAPI": {"items": [_SPEC_ITEM]}},
            # Ray's object store. Its content counts as the container's memory.
            {"name": _SHM_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": _resources(fleet)["limits"]["memory"]}},
            *checkpoint_volumes(driver.checkpoint),
        ],
        terminationGracePeriodSeconds=_default_grace_seconds(driver),
    )
    # The annotation is set after the merge, so that the user's template cannot replace it.
    template["metadata"]["annotations"][names.SPEC_ANNOTATION] = json.dumps(fleet.spec.to_wire())
    return template


def spec_of_job(job: Object) -> Object | None:
    """Return the spec in a stored driver Job, or None if the Job has none."""
    found = annotation(job["spec"]["template"], names.SPEC_ANNOTATION)
    spec: Object | None = json.loads(found) if found else None
    template = annotation(job, _WORKERS)
    if spec is not None and template is not None:
        spec.setdefault("workers", {})["template"] = json.loads(template)
    of_evaluators = annotation(job, _EVALUATORS)
    if spec is not None and of_evaluators is not None:
        spec.setdefault("evaluation", {})["template"] = json.loads(of_evaluators)
    own = json.loads(annotation(job, _GROUPS) or "{}")
    for group in ((spec or {}).get("collectors") or {}).get("groups") or []:
        if group["name"] in own:
            group.setdefault("workers", {})["template"] = own[group["name"]]
    return spec


def has_changed_workers(job: Object) -> bool:
    """Return whether the worker pod templates have changed since the driver started."""
    return annotation(job, _WORKERS) is not None


def with_workers_of(job: Object, fleet: CollectorFleet) -> Object:
    """Return a stored Job with the worker pod templates of ``fleet``. The Job's own pods do not use these templates."""
    of_groups, evaluation = templates_of_groups(fleet.spec), fleet.spec.evaluation
    changed = {
        _WORKERS: json.dumps(fleet.spec.workers.template),
        **({_GROUPS: json.dumps(of_groups)} if of_groups else {}),
        **({_EVALUATORS: json.dumps(evaluation.template)} if evaluation is not None else {}),
        **{key: value for key, value in hash_annotations(fleet.spec).items() if is_group_annotation(key)},
        GENERATION_ANNOTATION: str(fleet.metadata.generation),
    }
    kept = ("name", "namespace", "labels", "ownerReferences")
    meta = {key: value for key, value in metadata(job).items() if key in kept}
    annotations = {**(metadata(job).get("annotations") or {}), **changed}
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {**meta, "annotations": annotations},
        "spec": job["spec"],
    }


def _container(fleet: CollectorFleet) -> Object:
    return {
        "name": CONTAINER,
        "command": _command(fleet),
        "resources": _resources(fleet),
        "ports": _ports(fleet),
        "env": _env(fleet),
        "volumeMounts": [
            {"name": _TOKEN_VOLUME, "mountPath": _token_mount(fleet), "readOnly": True},
            {"name": _SPEC_VOLUME, "mountPath": names.SPEC_MOUNT, "readOnly": True},
            {"name": _SHM_VOLUME, "mountPath": "/dev/shm"},  # noqa: S108  (a mount point)
            *checkpoint_mounts(fleet.spec.driver.checkpoint),
        ],
        # The driver writes its final message. If the driver is killed, Kubernetes uses the end of the driver's log
        # instead.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _env(fleet: CollectorFleet) -> list[Object]:
    name, namespace = fleet.metadata.name, fleet.metadata.namespace
    env: list[Object] = [
        {"name": names.ENV_NAMESPACE, "value": namespace},
        {"name": names.ENV_NAME, "value": name},
        {"name": names.ENV_UID, "value": fleet.metadata.uid},
        {"name": names.ENV_POD, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": names.ENV_SPEC, "value": f"{names.SPEC_MOUNT}/{names.SPEC_FILE}"},
        *_env_of_the_launcher(fleet),
    ]
    # The driver must write its checkpoint within the grace period. A container cannot read this period from
    # Kubernetes, so the operator passes it in an environment variable.
    env.append({"name": names.ENV_GRACE_SECONDS, "value": str(_grace_seconds(fleet.spec.driver))})
    if fleet.spec.driver.checkpoint is not None:
        env.append({"name": names.ENV_CHECKPOINTS, "value": names.CHECKPOINT_MOUNT})
    return env


def _default_grace_seconds(driver: Driver) -> int:
    return _GRACE_SECONDS if driver.checkpoint is None else _GRACE_SECONDS_WITH_CHECKPOINT


def _grace_seconds(driver: Driver) -> Any:
    """Return the grace period of the merged template, in seconds.

    The user's template may set the grace period. If the template sets the grace period to null, Kubernetes' default
    applies.
    """
    theirs = driver.template.get("spec") or {}
    if _GRACE_FIELD not in theirs:
        return _default_grace_seconds(driver)
    return _GRACE_SECONDS if theirs[_GRACE_FIELD] is None else theirs[_GRACE_FIELD]


def _env_of_the_launcher(fleet: CollectorFleet) -> list[Object]:
    if not fleet.spec.has_ray:
        return [{"name": names.ENV_POD_IP, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    return [
        {"name": names.ENV_RAY_ADDRESS, "value": names.head_address(fleet.metadata.name, fleet.metadata.namespace)},
        {"name": "RAY_AUTH_MODE", "value": "token"},
        {"name": "RAY_AUTH_TOKEN_PATH", "value": f"{names.TOKEN_MOUNT}/{names.TOKEN_SECRET_KEY}"},
    ]


def _token_volumes(fleet: CollectorFleet) -> list[Object]:
    """Return the volume of the token with which the driver authenticates to collectors.

    The operator does not wait for the token's Secret: Kubernetes starts the pod once the Secret exists.
    """
    name = fleet.metadata.name
    # KubeRay creates the Secret of a fleet with Ray.
    secret = names.cluster_name(name) if fleet.spec.has_ray else token_name(fleet)
    return [{"name": _TOKEN_VOLUME, "secret": {"secretName": secret}}]


def _token_mount(fleet: CollectorFleet) -> str:
    return names.TOKEN_MOUNT if fleet.spec.has_ray else names.HOSTS_TOKEN_MOUNT


def _ports(fleet: CollectorFleet) -> list[Object]:
    metrics = {"name": names.METRICS_PORT_NAME, "containerPort": names.METRICS_PORT}
    return [metrics] if fleet.spec.has_ray else [metrics, {"name": "hosts", "containerPort": names.HOSTS_PORT}]


def _command(fleet: CollectorFleet) -> list[str]:
    drive = ["python", "-m", "collectorfleet.cli", "drive"]
    before = import_code_first(fleet)
    return ["/bin/bash", "-c", f"{before} && exec {' '.join(drive)}"] if before else drive


def _resources(fleet: CollectorFleet) -> Object:
    own, evaluation = fleet.spec.driver.resources, fleet.spec.evaluation
    cpus, size_bytes = parse_quantity(own.cpu), parse_quantity(own.memory)
    if evaluation is not None and not fleet.spec.has_ray:
        # Without Ray, evaluators have no pods of their own. They are processes of the driver pod.
        cpus += evaluation.replicas * parse_quantity(evaluation.resources.cpu)
        size_bytes += evaluation.replicas * parse_quantity(evaluation.resources.memory)
    memory = format_memory(size_bytes)
    limits: dict[str, Any] = {"memory": memory}
    if own.gpu:
        limits[GPU_RESOURCE] = int(own.gpu)
    return {"requests": {"cpu": format_cpu(cpus), "memory": memory}, "limits": limits}
