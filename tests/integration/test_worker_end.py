"""What ends a worker pod: the hook of its container, in a process namespace as a container has."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import Any

import pytest
from tests.integration.played import manifest

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.raycluster import raycluster

# As KubeRay has it: a shell is the first process, and Ray is below it.
_POD = """
(exec -a ray::IDLE sleep 600) &
(exec -a ray::DashboardAgent sleep 600) &
(exec -a gcs_server sleep 600) &
{ (exec -a ray::c0.run sleep "$ROLLOUT"); echo the collector ended; } &
until cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -q '^ray::c0'; do :; done
bash -c "$HOOK"
echo the hook ended
wait
echo the pod ended
"""


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="left out: a process namespace wants root")


def _cluster() -> dict[str, Any]:
    stored = manifest()
    stored["metadata"] |= {"namespace": "lab", "uid": "u", "generation": 1}
    return raycluster(CollectorFleet.parse_stored(stored))


def _worker(cluster: dict[str, Any]) -> dict[str, Any]:
    [group] = cluster["spec"]["workerGroupSpecs"]
    return group["template"]["spec"]


def _end_pod(*, rollout_seconds: int, head_port: int) -> list[str]:
    """Return what a worker pod prints from the start of its hook to its end."""
    shell, option, hook = _worker(_cluster())["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert (shell, option) == ("/bin/bash", "-c")
    # KubeRay sets RAY_PORT.
    env = {**os.environ, "HOOK": hook, "ROLLOUT": str(rollout_seconds), "RAY_PORT": str(head_port)}
    command = ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", _POD]
    done = subprocess.run(command, env=env, capture_output=True, check=True, text=True, timeout=60)
    return done.stdout.splitlines()


@needs_root
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"], ids=["IPv4", "IPv6"])
def test_a_worker_pod_ends_as_soon_as_no_collector_is_in_it(host: str) -> None:
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as head:
        port = head.getsockname()[1]
        with socket.create_connection((host, port)):
            printed = _end_pod(rollout_seconds=1, head_port=port)
    assert printed == ["the collector ended", "the hook ended", "the pod ended"]


@needs_root
def test_a_worker_pod_without_a_head_ends_although_a_collector_is_in_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as head:
        port = head.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as connection:
            head.accept()[0].close()
            assert connection.recv(1) == b""
            printed = _end_pod(rollout_seconds=600, head_port=port)
    assert printed == ["the hook ended", "the pod ended"]


def test_only_worker_pods_wait_and_no_ray_drains_its_node() -> None:
    cluster = _cluster()
    worker, head = _worker(cluster), cluster["spec"]["headGroupSpec"]["template"]["spec"]
    assert worker["terminationGracePeriodSeconds"] == 30
    assert "lifecycle" not in head["containers"][0]
    for pod in (worker, head):
        assert {"name": "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S", "value": "0"} in pod["containers"][0]["env"]
