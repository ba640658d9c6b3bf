"""List partial pod specs, each with the path of the field that Pod Security `restricted` refuses, or None."""

from __future__ import annotations

from typing import Any

SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def ours(**container: Any) -> dict[str, Any]:
    """Return a pod spec whose container ``ray-head`` has these fields."""
    return {"containers": [{"name": "ray-head", **container}]}


def beside(context: dict[str, Any] | None) -> dict[str, Any]:
    """Return a pod spec with a sidecar that has the security context ``context``; without any if it is None."""
    container = {"name": "beside", "image": "beside:1"}
    return {"containers": [container if context is None else {**container, "securityContext": context}]}


SPECS: dict[str, tuple[dict[str, Any], str | None]] = {
    "nothing": ({}, None),
    "env": (ours(env=[{"name": "A", "value": "b"}]), None),
    "read-only": (ours(securityContext={"readOnlyRootFilesystem": True}), None),
    "bind-low-ports": (ours(securityContext={"capabilities": {"add": ["NET_BIND_SERVICE"]}}), None),
    "user": ({"securityContext": {"runAsUser": 2000}}, None),
    "beside-and-safe": (beside(SAFE), None),
    "claim": ({"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "a"}}]}, None),
    "host-network": ({"hostNetwork": True}, "hostNetwork"),
    "host-path": ({"volumes": [{"name": "a", "hostPath": {"path": "/a"}}]}, "volumes[0].hostPath"),
    "nfs": ({"volumes": [{"name": "a", "nfs": {"server": "a", "path": "/a"}}]}, "volumes[0].nfs"),
    "root": ({"securityContext": {"runAsNonRoot": False, "runAsUser": 0}}, "securityContext.runAsNonRoot"),
    "no-context": ({"securityContext": None}, "securityContext"),
    "unconfined": (
        ours(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        "containers[0].securityContext.seccompProfile",
    ),
    "privileged": (
        ours(securityContext={"privileged": True, "allowPrivilegeEscalation": None}),
        "containers[0].securityContext.privileged",
    ),
    "escalation": (
        ours(securityContext={"allowPrivilegeEscalation": True}),
        "containers[0].securityContext.allowPrivilegeEscalation",
    ),
    "trace": (
        ours(securityContext={"capabilities": {"add": ["SYS_PTRACE"]}}),
        "containers[0].securityContext.capabilities.add",
    ),
    "host-port": (ours(ports=[{"containerPort": 8265, "hostPort": 8265}]), "containers[0].ports"),
    "beside": (beside(None), "containers[0].securityContext"),
    "beside-and-half": (beside({"allowPrivilegeEscalation": False}), "containers[0].securityContext.capabilities.drop"),
}
