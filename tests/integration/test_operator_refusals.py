"""A child of a fleet that the API server refuses: by a quota on objects, or by somebody's admission policy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration.played import Pods, manifest, message, told
from tests.wait import eventually

pytestmark = pytest.mark.usefixtures("fleet_operator")

# Asked again every 10 s, whatever happens.
MENDED_WITHIN = 30


@pytest.fixture
def policy(control_plane: ControlPlane, namespace: str) -> Iterator[str]:
    """An admission policy that lets no RayCluster into the namespace, once it is in force."""
    name = f"no-{namespace}"[:60]
    resources = [
        {"apiGroups": ["ray.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["rayclusters"]}
    ]
    only = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    rule: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": resources},
            "validations": [
                {"expression": "false", "message": "clusters of Ray need the blessing of the platform team"}
            ],
        },
    }
    binding: Object = {
        "apiVersion": rule["apiVersion"],
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": only},
    }
    control_plane.apply([rule, binding])
    probe = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "probe"}}
    probe |= {"spec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray", "image": "i"}]}}}}}

    def is_refused() -> bool:
        try:
            arguments = ("create", "-n", namespace, "--dry-run=server", "-f", "-")
            control_plane.kubectl(*arguments, input=json.dumps(probe))
        except KubernetesError as error:
            return "blessing" in str(error)
        return False

    eventually(is_refused, within=30, what="the policy in force")
    yield name
    control_plane.delete(f"validatingadmissionpolicybinding/{name}")
    control_plane.delete(f"validatingadmissionpolicy/{name}")


def test_a_raycluster_that_a_policy_refuses_is_told_in_its_words_and_made_once_it_may_be(
    control_plane: ControlPlane, namespace: str, policy: str
) -> None:
    control_plane.apply(manifest(replicas=1), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace, within=60)
    assert told(seen, "RayClusterReady") == ("False", "Refused")
    assert "clusters of Ray need the blessing of the platform team" in message(seen, "Ready")
    control_plane.delete(f"validatingadmissionpolicybinding/{policy}")
    Pods(control_plane, namespace).wait("head", 1, within=MENDED_WITHIN)
    seen = control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Stalled")[0] == "False", namespace)
    assert told(seen, "RayClusterReady")[1] != "Refused"


def test_a_quota_that_lets_no_job_in_is_quoted_and_the_driver_comes_once_it_is_raised(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.kubectl("create", "quota", "jobs", "--hard=count/jobs.batch=0", "-n", namespace)
    control_plane.wait_for("quota/jobs", lambda q: "count/jobs.batch" in q["status"]["hard"], namespace)
    control_plane.apply(manifest(replicas=1), namespace)
    seen = control_plane.wait_for("cfleet/fleet", "Stalled", namespace, within=60)
    assert told(seen, "DriverRunning")[1] in ("Refused", "QuotaExceeded")
    assert "exceeded quota: jobs" in message(seen, "DriverRunning")
    # No pod waits on GPUs for a driver that may not come.
    assert control_plane.find("raycluster/fleet", namespace) is None
    control_plane.kubectl("patch", "quota/jobs", "-n", namespace, "-p", '{"spec": {"hard": {"count/jobs.batch": "1"}}}')
    for role in ("driver", "head"):
        Pods(control_plane, namespace).wait(role, 1, within=MENDED_WITHIN)
    control_plane.wait_for("cfleet/fleet", lambda f: told(f, "Stalled")[0] == "False", namespace)
