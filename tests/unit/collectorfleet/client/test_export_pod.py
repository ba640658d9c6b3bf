"""The pod that reads the checkpoints of a fleet on a cluster."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manifests import fleet

from collectorfleet.cli.pods import driver_template
from collectorfleet.client.export_pod import export_pod
from collectorfleet.errors import InvalidOption
from collectorfleet_api import names
from collectorfleet_api.rules.pods.built import built_problems

SECRET = {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "key"}}}
TEMPLATE = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"sidecar.example.com/inject": "true"}},
    "spec": {
        "nodeSelector": {"pool": "cpu"},
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "serviceAccountName": "trainer",
        "initContainers": [{"name": "fetch", "image": "fetch:1"}],
        "containers": [
            {
                "name": "driver",
                "env": [SECRET],
                "envFrom": [{"secretRef": {"name": "all"}}],
                "livenessProbe": {"exec": {"command": ["true"]}},
                "resources": {"limits": {"memory": "6Gi", "nvidia.com/gpu": 1}},
            },
            {"name": "proxy", "image": "proxy:1"},
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}
CHECKPOINT = {"claimName": "runs", "subPath": "cheetah"}


def pod(changes: dict[str, Any] | None = None, *, node: str | None = None) -> dict[str, Any]:
    made = fleet({"spec.driver.checkpoint": CHECKPOINT, "spec.driver.template": TEMPLATE, **(changes or {})})
    return export_pod(made, driver_template(made), node=node)


def test_it_runs_where_the_driver_may_run_and_mounts_only_the_claim_and_cannot_write_to_it() -> None:
    spec = pod({"spec.imagePullSecrets": [{"name": "registry"}], "spec.priorityClassName": "high"})["spec"]
    assert spec["nodeSelector"] == {"pool": "cpu"}
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["priorityClassName"] == "high"
    assert spec["securityContext"]["runAsNonRoot"] is True
    (container,) = spec["containers"]
    assert container["volumeMounts"][0] == {
        "name": "checkpoints",
        "mountPath": names.CHECKPOINT_MOUNT,
        "readOnly": True,
        "subPath": "cheetah",
    }
    claims = [volume["persistentVolumeClaim"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume]
    assert claims == [{"claimName": "runs"}]
    assert list(built_problems(spec)) == []


def test_it_has_no_secret_no_account_no_sidecar_and_no_device_of_the_driver() -> None:
    made = pod()
    spec = made["spec"]
    assert "secretKeyRef" not in str(made)
    assert spec["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in spec
    assert "initContainers" not in spec
    (container,) = spec["containers"]
    assert container["resources"]["limits"] == {"memory": "6Gi"}
    assert container["resources"]["requests"]["cpu"] == "100m"
    assert {"envFrom", "livenessProbe", "ports"} & container.keys() == set()
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_the_operator_does_not_take_it_for_a_pod_of_the_fleet_and_it_is_deleted_with_the_fleet() -> None:
    metadata = pod()["metadata"]
    assert "labels" not in metadata
    assert [(owner["kind"], owner["uid"]) for owner in metadata["ownerReferences"]] == [
        (names.KIND, fleet().metadata.uid)
    ]


def test_a_claim_of_one_node_brings_it_to_the_node_of_the_driver() -> None:
    assert pod(node="node2")["spec"]["affinity"] == {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node2"]}]}
                ]
            }
        }
    }
    assert "podAffinity" in pod()["spec"]["affinity"]


def test_a_fleet_without_checkpoints_is_refused_with_the_field_to_set() -> None:
    made = fleet()
    with pytest.raises(InvalidOption, match=r"fleet cheetah keeps no checkpoints .*; set spec.driver.checkpoint"):
        export_pod(made, driver_template(made))
