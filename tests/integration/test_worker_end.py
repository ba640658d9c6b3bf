"""What ends a worker pod: the hook of its container, in a process namespace as a container has."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
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
{ (exec 3<>"/dev/tcp/$DRIVER"; read -r -N 1 <&3; exec -a ray::c0.run sleep "$ROLLOUT"); echo the collector ended; } &
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


def _end_pod(host: str, *, rollout_seconds: int, driver_lives: bool) -> list[str]:
    """Return what a worker pod prints from the start of its hook to its end. Its collector has a driver at ``host``."""
    shell, option, hook = _worker(_cluster())["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert (shell, option) == ("/bin/bash", "-c")
    command = ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", _POD]
    served: list[socket.socket] = []

    def serve() -> None:
        connection, _ = driver.accept()
        connection.sendall(b"r")
        if driver_lives:
            served.append(connection)
        else:
            connection.close()

    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as driver:
        # An address of loopback that is not the collector's own stands for another host.
        env = {"DRIVER": f"{host}/{driver.getsockname()[1]}", "ROLLOUT": str(rollout_seconds), "HOOK": hook}
        thread = threading.Thread(target=serve)
        thread.start()
        done = subprocess.run(command, env=os.environ | env, capture_output=True, check=True, text=True, timeout=60)
        thread.join()
    for connection in served:
        connection.close()
    return done.stdout.splitlines()


@needs_root
@pytest.mark.parametrize("host", ["127.0.0.2", "::ffff:127.0.0.2"], ids=["IPv4", "IPv6"])
def test_a_worker_pod_ends_as_soon_as_no_collector_is_in_it(host: str) -> None:
    printed = _end_pod(host, rollout_seconds=1, driver_lives=True)
    assert printed == ["the collector ended", "the hook ended", "the pod ended"]


@needs_root
def test_a_worker_pod_without_driver_and_head_ends_although_a_collector_is_in_it() -> None:
    printed = _end_pod("127.0.0.2", rollout_seconds=600, driver_lives=False)
    assert printed == ["the hook ended", "the pod ended"]


def test_only_worker_pods_wait_and_no_ray_drains_its_node() -> None:
    cluster = _cluster()
    worker, head = _worker(cluster), cluster["spec"]["headGroupSpec"]["template"]["spec"]
    assert worker["terminationGracePeriodSeconds"] == 30
    assert "lifecycle" not in head["containers"][0]
    for pod in (worker, head):
        assert {"name": "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S", "value": "0"} in pod["containers"][0]["env"]
