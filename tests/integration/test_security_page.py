"""What the page on security tells people to apply does what the page says."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration.played import Pods, manifest, message
from tests.wait import eventually

from collectorfleet_api import names

HEADING = "## ServiceAccounts and Secrets of a namespace"


@pytest.mark.usefixtures("fleet_operator")
def test_the_policy_keeps_fleets_from_other_accounts(control_plane: ControlPlane, namespace: str) -> None:
    page = (ROOT / "docs/security.md").read_text().partition(HEADING)[2]
    block = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert block is not None
    objects = list(yaml.safe_load_all(block[1]))
    # The other namespaces are other tests'.
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    objects[1]["spec"]["matchResources"] = here
    control_plane.kubectl("create", "serviceaccount", "admin", "-n", namespace)
    control_plane.apply(objects)
    try:
        eventually(lambda: is_refused(control_plane, namespace), within=30, what="the policy in force")
        control_plane.apply(manifest("ours", replicas=1), namespace)
        for role in ("head", "worker", "driver"):
            Pods(control_plane, namespace, "ours").wait(role, 1)
        driver = {"train": {"function": "t:t"}, "template": {"spec": {"serviceAccountName": "admin"}}}
        control_plane.apply(manifest("theirs", replicas=1, driver=driver), namespace)
        words = "pods of a fleet use the account default or that of their driver"
        control_plane.wait_for("cfleet/theirs", lambda f: words in message(f, "DriverRunning"), namespace)
        assert Pods(control_plane, namespace, "theirs").of("driver") == []
    finally:
        for obj in objects:
            control_plane.delete(f"{obj['kind'].lower()}/{obj['metadata']['name']}")


def is_refused(plane: ControlPlane, namespace: str) -> bool:
    spec = {"serviceAccountName": "admin", "containers": [{"name": "c", "image": "i"}]}
    labels = {names.FLEET_LABEL: "x"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "labels": labels}, "spec": spec}
    try:
        plane.kubectl("create", "-n", namespace, "--dry-run=server", "-f", "-", input=json.dumps(pod))
    except KubernetesError as error:
        return "of their driver" in str(error)
    return False
