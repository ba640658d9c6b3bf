"""Pod templates: the fields of every pod of a fleet, with the user's partial template merged over them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.code import mount_code
from collectorfleet_operator.children.gpus import requests_gpus
from collectorfleet_operator.children.merge import merge
from collectorfleet_operator.children.owner import labels
from collectorfleet_operator.objects import Kind, Object

# KubeRay and the Job controller make the pods from these templates.
POD: Final = Kind("v1", "Pod", "pods")
USER_ID: Final = 1000

_LOST_NODE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE: Final = "NoExecute"
_LOST_NODE_SECONDS: Final = 30


class PodRole(StrEnum):
    """The role of a pod, as in its role label."""

    HEAD = "head"
    WORKER = "worker"
    LEARNER = "learner"
    EVALUATOR = "evaluator"
    DRIVER = "driver"


_POD: Final = {
    # A Service named "ray" would otherwise put RAY_PORT=tcp://... into every container of its namespace.
    "enableServiceLinks": False,
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": USER_ID,
        "runAsGroup": USER_ID,
        "fsGroup": USER_ID,
        # Otherwise, at each start of a pod, the kubelet would change the group of every file in a large volume.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}


def pod_template(
    fleet: CollectorFleet,
    role: PodRole,
    container: Object,
    user: Mapping[str, Any],
    *,
    gpus: int,
    annotations: Mapping[str, str] | None = None,
    **pod: Any,
) -> Object:
    """Return the template of a pod with this ``role`` and ``container`` as its first container.

    The template has the common fields of all pods of the fleet: image, priority, tolerations, security, code and
    labels. ``pod`` has further fields of the pod's spec. ``user`` is merged over these fields.
    """
    spec = fleet.spec
    first: Object = {
        "image": spec.image,
        "imagePullPolicy": spec.image_pull_policy.value,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        **container,
    }
    base: Object = {"containers": [first], **_POD, **pod}
    if spec.image_pull_secrets:
        base["imagePullSecrets"] = [secret.to_wire() for secret in spec.image_pull_secrets]
    if spec.priority_class_name is not None:
        base["priorityClassName"] = spec.priority_class_name
    if spec.tolerations:
        base["tolerations"] = [toleration.to_wire() for toleration in spec.tolerations]
    if spec.code is not None:
        mount_code(base, spec.code)
    metadata = {"annotations": dict(annotations)} if annotations else {}
    ours: Object = {"metadata": metadata, "spec": base}
    template: Object = merge(ours, user)
    if not gpus and not requests_gpus(template["spec"]["containers"][0]):
        # If NVIDIA's runtime is the default, a container without a GPU request sees all GPUs of its node.
        template = merge(merge(ours, _without_gpus(first["name"])), user)
    _leave_lost_nodes(template["spec"])
    # These labels are set after the merge, so that the user's template cannot replace them. The operator selects pods
    # by these labels.
    template["metadata"]["labels"] = {**template["metadata"].get("labels", {}), **labels(fleet, role)}
    return template


def _without_gpus(container: str) -> Object:
    """Return a template that hides the node's GPUs from ``container``."""
    return {"spec": {"containers": [{"name": container, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}]}}


def _leave_lost_nodes(pod: Object) -> None:
    """Make the pod tolerate a lost node for 30 s instead of Kubernetes' 300 s, unless the user sets a toleration."""
    theirs = pod.get("tolerations", [])
    # A toleration without a key tolerates everything.
    tolerated = {one.get("key") for one in theirs if one.get("effect") in (None, "", _NO_EXECUTE)}
    ours = [
        {"key": key, "operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": _LOST_NODE_SECONDS}
        for key in _LOST_NODE
        if not {key, None} & tolerated
    ]
    pod["tolerations"] = [*theirs, *ours]
