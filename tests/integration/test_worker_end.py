"""What ends a worker pod: the hook of its container, in a process namespace as a container has."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.integration.played import manifest

from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.raycluster import raycluster

# As KubeRay has it: a shell is the first process, and Ray is below it.
_POD = """
(exec -a ray::IDLE sleep 600) &
(exec -a ray::DashboardAgent sleep 600) &
(exec -a gcs_server sleep 600) &
{ (exec -a ray::c0.run sleep 1); echo the collector ended; } &
until cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -q '^ray::c0'; do :; done
bash -c "$HOOK"
echo the hook ended
wait
echo the pod ended
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="left out: a process namespace wants root")
def test_a_worker_pod_ends_as_soon_as_no_collector_is_in_it() -> None:
    stored = manifest()
    stored["metadata"] |= {"namespace": "lab", "uid": "u", "generation": 1}
    cluster = raycluster(CollectorFleet.parse_stored(stored))
    [group] = cluster["spec"]["workerGroupSpecs"]
    pod = group["template"]["spec"]
    shell, option, hook = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert (shell, option, pod["terminationGracePeriodSeconds"]) == ("/bin/bash", "-c", 30)
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "/bin/bash", "-c", _POD],
        env={**os.environ, "HOOK": hook},
        capture_output=True,
        check=True,
        text=True,
        timeout=30,
    )
    assert done.stdout.splitlines() == ["the collector ended", "the hook ended", "the pod ended"]
    head = cluster["spec"]["headGroupSpec"]["template"]["spec"]
    assert "lifecycle" not in head["containers"][0]
