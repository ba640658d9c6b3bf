"""What a failed test on a cluster leaves for its reader: pods, events and the ends of their logs."""

from __future__ import annotations

from collections.abc import Iterator

from tests.cluster.client import Client, Object
from tests.cluster.errors import KubernetesError

LOG_LINES = 40


def describe(client: Client, namespace: str) -> str:
    """The state of a namespace as text; what cannot be read says why instead."""
    return "\n".join(_sections(client, namespace))


def _sections(client: Client, namespace: str) -> Iterator[str]:
    yield _kubectl(client, "get", "pods,jobs,rayclusters", "-n", namespace, "-o", "wide")
    yield _kubectl(client, "get", "collectorfleets", "-n", namespace, "-o", "yaml")
    yield _kubectl(client, "get", "events", "-n", namespace, "--sort-by=.lastTimestamp")
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
