"""A real API server takes every example, and what the operator makes of it, by the letter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.binaries import ROOT
from tests.cluster.client import Object, manifest_text
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.combinations.parts import EVALUATION, JOB
from tests.integration.played import Pods
from tests.manifests import manifest
from tests.pod_templates import SPECS
from tests.wait import eventually

from collectorfleet_api.manifests.files import load_file
from collectorfleet_api.schema.crd import schema
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_operator.children.table import RAYCLUSTER_CHILD, manifests

pytestmark = pytest.mark.usefixtures("fleet_crd")

EXAMPLES = [*sorted((ROOT / "examples").glob("*.yaml")), ROOT / "examples/own_image/fleet.yaml"]
STRICTLY = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-o", "name", "-f", "-")
SHA = "0" * 64
# By what their pods differ: how they get GPUs, code, checkpoints and credentials.
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "logical": {"spec.workers.gpu.perPod": 2},
    "mig": {"spec.workers.gpu": {"mode": "MIG", "resource": "nvidia.com/mig-1g.10gb"}},
    "time-slicing": {"spec.workers.gpu": {"mode": "TimeSlicing", "resource": "nvidia.com/gpu.shared"}},
    "mps": {"spec.workers.gpu.mode": "MPS"},
    "dra": {"spec.workers.gpu": {"mode": "DRA", "claimTemplate": "half"}},
    "none": {
        "spec.workers.gpu.mode": "None",
        "spec.workers.template": {
            "metadata": {"labels": {"kai.scheduler/queue": "lab"}, "annotations": {"gpu-fraction": "0.5"}},
            "spec": {"schedulerName": "kai-scheduler"},
        },
    },
    "without-ray": {**JOB, "spec.workers.gpu.perPod": 2},
    "evaluators": {"spec.evaluation": EVALUATION},
    "evaluators-on-a-gpu": {
        "spec.evaluation": {"replicas": 2, "resources": {"gpu": 0.5}},
        "spec.workers.gpu": {"mode": "DRA", "claimTemplate": "half"},
    },
    "evaluators-without-ray": {**JOB, "spec.evaluation": EVALUATION},
    "config-map": {"spec.code.configMap": "code"},
    "archive": {"spec.code": {"archive": {"configMap": "code", "sha256": SHA}, "path": "src"}},
    "git": {
        "spec.code.git": {
            "repository": "https://git.example.com/lab.git",
            "commit": "0" * 40,
            "credentialsSecret": {"name": "git"},
        }
    },
    "artifact": {
        "spec.code.artifact": {"reference": f"ghcr.io/me/lab@sha256:{SHA}", "credentialsSecret": {"name": "registry"}}
    },
    "everything": {
        "spec.networkPolicy": {"metricsFrom": [{"podSelector": {}}], "ingress": [{}], "egress": [{}]},
        "spec.imagePullSecrets": [{"name": "registry"}],
        "spec.tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        "spec.driver": {
            "train": {"function": "a:b"},
            "resources": {"gpu": 1},
            "checkpoint": {"claimName": "runs", "subPath": "lab"},
        },
    },
}


def of_kind(name: str) -> Object:
    changes = dict(KINDS[name])
    if any(path.startswith("spec.workers.gpu") for path in changes):
        changes["spec.collectors.resources.gpu"] = 0.5
    return manifest({"spec.collectors.replicas": 2, **changes}, name)


def roles_of(name: str) -> list[str]:
    found = ["worker", "driver"] if "spec.launcher" in KINDS[name] else ["head", "worker", "driver"]
    return [*found, "evaluator"] if name in ("evaluators", "evaluators-on-a-gpu") else found


def all_children(namespace: str) -> list[Object]:
    """Of each example and of each kind of pod, as they go to the API server."""
    fleets = [fleet for path in EXAMPLES for fleet in load_file(path).fleets]
    fleets += [CollectorFleet.parse(of_kind(name)) for name in KINDS]
    identity = {"namespace": namespace, "uid": "00000000-0000-4000-8000-000000000000", "generation": 1}
    found: list[Object] = []
    for fleet in fleets:
        stored = fleet.model_copy(update={"metadata": fleet.metadata.model_copy(update=identity)})
        found += manifests(stored).values()
    through_json: list[Object] = json.loads(json.dumps(found))
    return through_json


def shown(lines: list[str]) -> Iterator[str]:
    """The fields that `kubectl explain --recursive` lists, by path."""
    parents: list[str] = []
    for line in lines:
        if found := re.fullmatch(r"( +)(\w+)\t<(\S+)>( -required-)?", line):
            depth = len(found[1]) // 2 - 1
            parents = [*parents[:depth], found[2]]
            yield ".".join(parents)


def described(part: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a schema, by path."""
    for name, inner in part.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, inner
        yield from described(inner.get("items", inner), here)


def test_every_example_is_taken(control_plane: ControlPlane, namespace: str) -> None:
    assert len(EXAMPLES) > 5
    for path in EXAMPLES:
        taken = control_plane.kubectl(*STRICTLY, "-n", namespace, input=path.read_text())
        assert "collectorfleet.collectorfleet.dev/" in taken, path


def test_an_example_with_a_field_that_does_not_exist_is_not_taken(control_plane: ControlPlane, namespace: str) -> None:
    text = EXAMPLES[0].read_text().replace("  environment:", "  enviroment: {}\n  environment:")
    with pytest.raises(KubernetesError, match="enviroment"):
        control_plane.kubectl(*STRICTLY, "-n", namespace, input=text)


def test_every_child_of_every_example_and_kind_of_pod_is_taken(control_plane: ControlPlane, namespace: str) -> None:
    children = all_children(namespace)
    taken = control_plane.kubectl(*STRICTLY, input=manifest_text(children))
    assert len(taken.split()) == len(children) >= 100


def test_a_child_with_a_field_that_does_not_exist_is_not_taken(control_plane: ControlPlane, namespace: str) -> None:
    job = next(child for child in all_children(namespace) if child["kind"] == "Job")
    job["spec"]["template"]["spec"]["nodeSelectr"] = {}
    with pytest.raises(KubernetesError, match="nodeSelectr"):
        control_plane.kubectl(*STRICTLY, input=manifest_text(job))


@pytest.mark.usefixtures("fleet_operator")
def test_every_kind_of_pod_fits_the_restricted_pod_security_standard(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    control_plane.apply([of_kind(name) for name in KINDS], namespace)
    for name in KINDS:
        pods = Pods(control_plane, namespace, name)
        for role in roles_of(name):
            # As KubeRay and the Job controller make them, init containers of both included.
            eventually(lambda pods=pods, role=role: pods.of(role), within=60, what=f"{role} of {name}")  # type: ignore[misc]


def test_what_validate_warns_of_is_what_the_restricted_pod_security_standard_refuses(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    pods = []
    for name, (spec, _) in SPECS.items():
        made = manifests(CollectorFleet.parse(manifest({"spec.ray.head.template": {"spec": spec}})))
        template = made[RAYCLUSTER_CHILD]["spec"]["headGroupSpec"]["template"]
        kind = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
        pods.append({**kind, "spec": template["spec"]})
    try:
        taken = control_plane.kubectl("create", *STRICTLY[2:], input=manifest_text(pods))
    except KubernetesError as refused:
        taken = refused.stdout
    assert {one.removeprefix("pod/") for one in taken.split()} == {
        name for name, (_, path) in SPECS.items() if not path
    }


def test_kubectl_explain_shows_each_field_of_the_spec_with_its_type(control_plane: ControlPlane) -> None:
    told = eventually(
        lambda: control_plane.kubectl("explain", "cfleet.spec", "--recursive"),
        within=60,
        what="the published schema",
        tolerate=(RuntimeError,),
    )
    asked = [path for path, _ in described(schema()["properties"]["spec"])]
    assert len(asked) > 100
    assert sorted(shown(told.splitlines())) == sorted(asked)


def test_each_field_of_the_resource_says_what_it_is() -> None:
    assert [path for path, part in described(schema()) if not part.get("description")] == ["metadata"]
