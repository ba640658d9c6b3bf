"""templates/deployment.yaml"""

from __future__ import annotations

from typing import Any

import pytest
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.rendering import FULL_NAME, NAMESPACE, container, only, pod, rendered

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ("image.tag=1.2.3", "ghcr.io/collectorfleet/operator:1.2.3"),
        ("image.registry=mirror.example.com:5000", "mirror.example.com:5000/collectorfleet/operator:0.1.0"),
        (f"image.tag=1.2.3,image.digest={DIGEST}", f"ghcr.io/collectorfleet/operator@{DIGEST}"),
    ],
    ids=["tag", "registry", "digest wins"],
)
def test_the_image_is_the_one_that_was_asked_for(helm: Helm, values: str, image: str) -> None:
    assert container(rendered(helm, "--set", values))["image"] == image


def test_each_release_has_a_lease_of_its_own_that_one_of_its_pods_serves_by(helm: Helm) -> None:
    assert only(rendered(helm), "Deployment")["spec"]["replicas"] == 1
    two = rendered(helm, replicaCount=2)
    assert only(two, "Deployment")["spec"]["replicas"] == 2
    assert container(two)["args"] == [f"--lease={NAMESPACE}/{FULL_NAME}"]


def test_it_is_told_what_of_a_fleets_metadata_its_children_get(helm: Helm) -> None:
    told = container(rendered(helm, propagate={"labels": ["team", "a.example.com/*"], "annotations": ["owner"]}))[
        "args"
    ]
    assert told[1:] == [
        *("--propagate-label=team", "--propagate-label=a.example.com/*"),
        "--propagate-annotation=owner",
    ]


def test_it_is_told_which_namespaces_it_serves(helm: Helm) -> None:
    assert not [one for one in container(rendered(helm))["args"] if one.startswith("--namespace")]
    told = container(rendered(helm, watchNamespaces=["a", "b"], extraArgs=["--verbose"]))["args"]
    assert told[1:] == ["--namespace=a", "--namespace=b", "--verbose"]


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("--namespace=a", "name the namespace in watchNamespaces instead"),
        ("--health-port=0", "the port that the probes use"),
        ("--lease=a/b", "several pods serve at once"),
    ],
)
def test_an_argument_that_rights_or_probes_would_not_follow_is_refused(helm: Helm, argument: str, why: str) -> None:
    with pytest.raises(HelmError, match=f"extraArgs: {argument} .*{why}"):
        rendered(helm, extraArgs=[argument])


def test_probes_ask_a_port_that_the_container_has(helm: Helm) -> None:
    found = container(rendered(helm))
    ports = {port["name"] for port in found["ports"]}
    assert {found[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} <= ports
    assert "health" in ports


def test_it_runs_as_an_ordinary_user_who_can_write_nothing(helm: Helm) -> None:
    objects = rendered(helm)
    assert pod(objects)["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container(objects)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_number_of_the_security_context_can_be_left_to_the_cluster(helm: Helm) -> None:
    words = ("--set", "podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null")
    spec = pod(rendered(helm, *words))["spec"]
    assert set(spec["securityContext"]) == {"runAsNonRoot", "seccompProfile"}


@pytest.mark.parametrize(
    ("value", "given", "path"),
    [
        ("imagePullSecrets", [{"name": "registry"}], "imagePullSecrets"),
        ("nodeSelector", {"disk": "ssd"}, "nodeSelector"),
        ("tolerations", [{"key": "gpu", "operator": "Exists"}], "tolerations"),
        ("affinity", {"podAntiAffinity": {}}, "affinity"),
        ("priorityClassName", "system-cluster-critical", "priorityClassName"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_the_pod_is_placed_as_the_values_say(helm: Helm, value: str, given: Any, path: str) -> None:
    assert pod(rendered(helm, **{value: given}))["spec"][path] == given


def test_two_pods_prefer_two_nodes(helm: Helm) -> None:
    """Prefer: a cluster of one node runs both."""
    objects = rendered(helm, replicaCount=2)
    (term,) = pod(objects)["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"] == {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": only(objects, "Deployment")["spec"]["selector"],
    }
    assert "affinity" not in pod(rendered(helm))["spec"]


def test_an_affinity_of_the_values_replaces_that_of_two_pods(helm: Helm) -> None:
    own = {"nodeAffinity": {}}
    assert pod(rendered(helm, replicaCount=2, affinity=own))["spec"]["affinity"] == own


@pytest.mark.parametrize(
    ("value", "given", "path"),
    [
        ("extraEnv", [{"name": "TZ", "value": "UTC"}], "env"),
        ("resources", {"limits": {"memory": "1Gi"}}, "resources"),
    ],
    ids=["extraEnv", "resources"],
)
def test_the_container_has_what_the_values_say(helm: Helm, value: str, given: Any, path: str) -> None:
    # Maps are merged with the defaults, lists replace them.
    found = container(rendered(helm, **{value: given}))[path]
    assert given.items() <= found.items() if isinstance(given, dict) else found == given


def test_the_pod_leaves_a_lost_node_before_kubernetes_five_minutes(helm: Helm) -> None:
    found = pod(rendered(helm))["spec"]["tolerations"]
    assert {(one["key"], one["tolerationSeconds"]) for one in found} == {
        ("node.kubernetes.io/not-ready", 30),
        ("node.kubernetes.io/unreachable", 30),
    }


def test_what_is_left_empty_is_not_there(helm: Helm) -> None:
    spec = pod(rendered(helm))["spec"]
    assert not spec.keys() & {"imagePullSecrets", "nodeSelector", "affinity", "priorityClassName"}
    assert "env" not in container(rendered(helm))
    assert "annotations" not in pod(rendered(helm))["metadata"]


def test_the_pod_is_annotated(helm: Helm) -> None:
    found = pod(rendered(helm, podAnnotations={"example.com/team": "rl"}))
    assert found["metadata"]["annotations"] == {"example.com/team": "rl"}


def test_it_runs_as_its_own_service_account(helm: Helm) -> None:
    assert pod(rendered(helm))["spec"]["serviceAccountName"] == FULL_NAME
