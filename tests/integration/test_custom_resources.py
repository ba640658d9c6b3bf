"""Custom resources of Ray on a real API server with KubeRay: how many pods there are, and what they tell Ray."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration.played import Pods, manifest

pytestmark = pytest.mark.usefixtures("fleet_operator")


def fleet(replicas: int, **workers: Any) -> dict[str, Any]:
    return manifest(collectors={"replicas": replicas, "resources": {"custom": {"license": 0.5}}}, workers=workers)


def test_pods_hold_as_many_collectors_as_their_licences_are_enough_for(
    control_plane: ControlPlane, namespace: str
) -> None:
    with pytest.raises(KubernetesError, match=r"requests 0.5 license, but a worker pod has 0 \(workers.customPerPod\)"):
        control_plane.apply(fleet(6), namespace)
    control_plane.apply(fleet(6, customPerPod={"license": 2, "disk": 1}), namespace)
    pods = Pods(control_plane, namespace)
    pods.wait("worker", 2)
    cluster = control_plane.get("raycluster/fleet", namespace)
    params = cluster["spec"]["workerGroupSpecs"][0]["rayStartParams"]
    assert json.loads(params["resources"].strip("'")) == {"collector": 4, "license": 2, "disk": 1}
    # What KubeRay makes of it reaches `ray start` whole.
    command = " ".join(pods.of("worker")[0]["spec"]["containers"][0]["args"])
    assert '"license": 2' in command

    control_plane.kubectl("scale", "cfleet/fleet", "--replicas=9", "-n", namespace)
    pods.wait("worker", 3)


def test_a_name_that_no_shell_may_see_is_told_before_a_pod_exists(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(workers={"customPerPod": {"a'b": 1}}), namespace)
    stalled = control_plane.wait_for(
        "cfleet/fleet",
        lambda f: any(c["type"] == "Stalled" and c["status"] == "True" for c in f["status"].get("conditions", [])),
        namespace,
    )
    told = {c["type"]: (c["reason"], c["message"]) for c in stalled["status"]["conditions"]}
    reason, message = told["Stalled"]
    assert reason == "InvalidSpec"
    assert '"a\'b" is not a name of a resource' in message
    assert control_plane.items("rayclusters", namespace) == []
