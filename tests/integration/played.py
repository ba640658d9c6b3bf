"""Pods of a control plane without nodes: a test says what happens to them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from tests.cluster.client import Object, condition
from tests.cluster.control_plane import ControlPlane
from tests.wait import eventually

from collectorfleet_api import names


def manifest(name: str = "fleet", *, replicas: int = 2, **spec: Any) -> Object:
    """A valid fleet; keyword arguments replace whole parts of its spec."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": name},
        "spec": {
            "image": "test.local/fleet:1",
            "environment": {"factory": "envs:make"},
            "policy": {"factory": "policies:make"},
            "driver": {"train": {"function": "training:train"}},
            "collection": {"framesPerBatch": 1200},
            "collectors": {"replicas": replicas, "resources": {"cpu": "100m", "memory": "1Gi"}},
            **spec,
        },
    }


class Pods:
    """The pods of one fleet."""

    def __init__(self, plane: ControlPlane, namespace: str, fleet: str = "fleet") -> None:
        self._plane = plane
        self._namespace = namespace
        self._fleet = fleet

    def of(self, role: str) -> list[Object]:
        selector = f"{names.FLEET_LABEL}={self._fleet},{names.ROLE_LABEL}={role}"
        found = self._plane.items("pods", self._namespace, selector)
        return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]

    def wait(self, role: str, count: int, within: float = 30) -> list[Object]:
        what = f"{count} {role} pods"
        return eventually(lambda: self.of(role), until=lambda found: len(found) == count, within=within, what=what)

    def run(self, role: str, count: int) -> None:
        """Wait for that many pods and let them be ready."""
        now = _now()
        for pod in self.wait(role, count):
            container = pod["spec"]["containers"][0]["name"]
            self.set_status(
                pod,
                phase="Running",
                podIP="10.0.0.1",
                podIPs=[{"ip": "10.0.0.1"}],
                conditions=[{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
                containerStatuses=[container_status(container, {"running": {"startedAt": now}}, ready=True)],
            )

    def hold_up(self, role: str, reason: str, message: str) -> None:
        """Let the containers of that role wait, as for an image."""
        for pod in self.of(role):
            container = pod["spec"]["containers"][0]["name"]
            state = {"waiting": {"reason": reason, "message": message}}
            self.set_status(
                pod,
                phase="Pending",
                conditions=[{"type": "Ready", "status": "False"}],
                containerStatuses=[container_status(container, state)],
            )

    def end(self, pod: Object, code: int, message: str = "") -> None:
        """Let the driver's container end now, so that the Job waits before it makes another."""
        now = _now()
        ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "message": message}
        state = {"terminated": ended | {"startedAt": now, "finishedAt": now}}
        phase = "Succeeded" if code == 0 else "Failed"
        self.set_status(pod, phase=phase, containerStatuses=[container_status("driver", state)])

    def set_status(self, pod: Object, **status: Any) -> None:
        self._plane.merge_status(f"pod/{pod['metadata']['name']}", self._namespace, status)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def container_status(name: str, state: Object, *, ready: bool = False) -> Object:
    return {
        "name": name,
        "ready": ready,
        "restartCount": 0,
        "image": "test.local/fleet:1",
        "imageID": "",
        "state": state,
    }


def told(fleet: Object, type_: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    found = condition(fleet, type_) or {}
    return found.get("status", ""), found.get("reason", "")


def message(fleet: Object, type_: str) -> str:
    return str((condition(fleet, type_) or {}).get("message", ""))


def report(plane: ControlPlane, namespace: str, available: int, fleet: str = "fleet", **override: Any) -> None:
    """Write what a driver would: so many collectors on acknowledged weights."""
    stored = plane.get(f"cfleet/{fleet}", namespace)
    desired = stored["spec"]["collectors"]["replicas"]
    status = {
        "fleetUID": stored["metadata"]["uid"],
        "driverIncarnation": 1,
        "weights": {"published": 3, "acknowledged": 3},
        "progress": {
            "batches": 3,
            "framesDelivered": 3600,
            "collectors": {"desired": desired, "available": available, "summary": f"{available}/{desired}"},
        },
        **override,
    }
    body = {**{key: stored[key] for key in ("apiVersion", "kind")}, "metadata": {"name": fleet}, "status": status}
    options = ("--server-side", f"--field-manager={names.DRIVER_MANAGER}", "--force-conflicts")
    plane.kubectl("apply", "-n", namespace, "--subresource=status", *options, "-f", "-", input=json.dumps(body))


def start(plane: ControlPlane, namespace: str) -> tuple[Pods, Object]:
    """A fleet of one collector that collects: its pods, and the fleet."""
    plane.apply(manifest(replicas=1), namespace)
    pods = Pods(plane, namespace)
    for role in ("head", "worker", "driver"):
        pods.run(role, 1)
    report(plane, namespace, available=1)
    return pods, plane.wait_for("cfleet/fleet", "Ready", namespace)
