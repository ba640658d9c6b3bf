"""Describe a cluster after a failed test: its operator, pods and events, and the last lines of logs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.cluster.addons import OPERATOR_NAMESPACE
from tests.cluster.client import Client, Object
from tests.cluster.cluster import Cluster
from tests.cluster.errors import KubernetesError
from tests.cluster.process import last_lines

LOG_LINES = 40


def describe(client: Client, namespace: str) -> str:
    """Return the state of the operator and of a namespace as text. A part that cannot be read has the reason."""
    ended = _ended(client) if isinstance(client, Cluster) else ()
    return "\n".join([*ended, *_operator(client), *_sections(client, namespace)])


def _ended(cluster: Cluster) -> Iterator[str]:
    for component in cluster.ended:
        yield f"{component.name} does not run; last lines of its log:\n{last_lines(component.log)}"


def _operator(client: Client) -> Iterator[str]:
    """Yield the state of nodes and operator, because a fleet without a status does not explain the operator's fault."""
    yield _kubectl(client, "get", "nodes", "-o", "custom-columns=NODE:.metadata.name,TAINTS:.spec.taints")
    yield _kubectl(client, "get", "pods", "-n", OPERATOR_NAMESPACE, "-o", "wide")
    yield _kubectl(client, "get", "events", "-n", OPERATOR_NAMESPACE, "--sort-by=.lastTimestamp")
    yield from _pods(client, OPERATOR_NAMESPACE)


def _sections(client: Client, namespace: str) -> Iterator[str]:
    yield _kubectl(client, "get", "pods,jobs,rayclusters", "-n", namespace, "-o", "wide")
    yield _kubectl(client, "get", "collectorfleets", "-n", namespace, "-o", "yaml")
    yield _kubectl(client, "get", "events", "-n", namespace, "--sort-by=.lastTimestamp")
    yield from _pods(client, namespace)


def _pods(client: Client, namespace: str) -> Iterator[str]:
    try:
        pods = client.items("pods", namespace)
    except KubernetesError as error:
        yield str(error)
        return
    for pod in pods:
        yield from _logs(client, namespace, pod)


def _logs(client: Client, namespace: str, pod: Object) -> Iterator[str]:
    name = pod["metadata"]["name"]
    statuses = pod["status"].get("initContainerStatuses", []) + pod["status"].get("containerStatuses", [])
    for status in statuses:
        log = ("logs", name, "-n", namespace, "-c", status["name"], f"--tail={LOG_LINES}")
        yield f"--- {name}/{status['name']}: {status['state']}\n{_kubectl(client, *log)}"
        if status["restartCount"]:
            yield f"--- {name}/{status['name']} before its restart:\n{_kubectl(client, *log, '--previous')}"


def _kubectl(client: Client, *words: str) -> str:
    try:
        return client.kubectl(*words, timeout=20)
    except KubernetesError as error:
        return f"kubectl {' '.join(words)}: {error}"
