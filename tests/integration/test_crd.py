"""The generated CRD on a real API server: accepted as it is, and what kubectl makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.manifests import manifest
from tests.wait import eventually

from collectorfleet_api.names import DRIVER_MANAGER, OPERATOR_MANAGER
from collectorfleet_api.v1alpha1 import CollectorFleet
from collectorfleet_api.v1alpha1.collectors import Resources

pytestmark = pytest.mark.usefixtures("fleet_crd")


def apply_status(cluster: ControlPlane, namespace: str, manager: str, status: dict[str, Any], **identity: str) -> None:
    body = {**manifest(), "status": status}
    body["metadata"] |= identity
    del body["spec"]
    cluster.kubectl(
        *("apply", "--server-side", "--subresource=status", f"--field-manager={manager}", "-n", namespace, "-f", "-"),
        input=json.dumps(body),
    )


def test_the_crd_is_structural_and_its_names_are_accepted(control_plane: ControlPlane) -> None:
    found = control_plane.get("crd/collectorfleets.collectorfleet.dev")
    conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_a_new_fleet_has_its_defaults_and_a_status_that_nobody_has_looked_at(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.apply(manifest(), namespace)
    stored = control_plane.get("cfleet/cheetah", namespace)
    assert stored["status"] == {"observedGeneration": -1}
    assert "finalizers" not in stored["metadata"]
    read = CollectorFleet.parse_stored(stored)
    assert read.spec == CollectorFleet.parse(manifest()).spec
    assert read.metadata.uid == stored["metadata"]["uid"]


def test_a_status_lands_only_on_the_object_that_it_was_decided_on(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    seen = control_plane.get("cfleet/cheetah", namespace)["metadata"]
    identity = {key: seen[key] for key in ("uid", "resourceVersion")}
    apply_status(control_plane, namespace, OPERATOR_MANAGER, {"observedGeneration": 1}, **identity)
    with pytest.raises(KubernetesError, match=r"Conflict|modified"):
        apply_status(control_plane, namespace, OPERATOR_MANAGER, {"observedGeneration": 2}, **identity)

    control_plane.delete("cfleet/cheetah", namespace)
    control_plane.apply(manifest(), namespace)
    with pytest.raises(KubernetesError, match=r"Conflict|modified|uid"):
        apply_status(control_plane, namespace, OPERATOR_MANAGER, {"observedGeneration": 3}, **identity)
    assert control_plane.get("cfleet/cheetah", namespace)["status"] == {"observedGeneration": -1}


def test_kubectl_get_shows_how_a_fleet_is(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    apply_status(
        control_plane,
        namespace,
        OPERATOR_MANAGER,
        {
            "phase": "Collecting",
            "conditions": [{"type": "Ready", "status": "True", "reason": "AllAvailable", "message": ""}],
            "driver": {"restarts": 1},
        },
    )
    apply_status(
        control_plane,
        namespace,
        DRIVER_MANAGER,
        {
            "weights": {"published": 412, "acknowledged": 410, "staleness": {"max": 2}},
            "progress": {
                "framesDelivered": 81200,
                "framesPerSecond": 1234.5,
                "collectors": {"desired": 16, "available": 15, "summary": "15/16"},
            },
            "evaluation": {"version": 400, "returnMean": 312.4, "summary": "312.4±5.1"},
        },
    )
    header, row = control_plane.kubectl("get", "cfleet", "-n", namespace).splitlines()
    assert header.split() == [
        "NAME",
        "READY",
        "COLLECTORS",
        "WEIGHTS",
        "STALENESS",
        "FRAMES",
        "FPS",
        "EVAL",
        "DONE",
        "PHASE",
        "AGE",
    ]
    assert row.split()[:-1] == ["cheetah", "True", "15/16", "410", "2", "81200", "1234.5", "312.4±5.1", "Collecting"]
    wide = control_plane.kubectl("get", "torchrl", "-o", "wide", "-n", namespace)
    assert wide.splitlines()[0].split()[-6:] == ["MODE", "PUBLISHED", "OF", "GROUPS", "RESTARTS", "REASON"]
    assert wide.split()[-4:] == ["Sync", "412", "1", "AllAvailable"]


def test_kubectl_explain_tells_what_a_field_is(control_plane: ControlPlane) -> None:
    told = eventually(
        lambda: control_plane.kubectl("explain", "cfleet.spec.collectors.resources"),
        within=60,
        what="the published schema",
        tolerate=(RuntimeError,),
    )
    fields = Resources.model_fields
    assert len(fields) > 2
    for field in fields.values():
        assert field.description
        assert " ".join(field.description.split()) in " ".join(told.split())


def test_operator_and_driver_write_the_status_side_by_side(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    ready = {"type": "Ready", "status": "False", "reason": "Starting", "message": ""}
    stalled = {"type": "Stalled", "status": "False", "reason": "Progressing", "message": ""}
    apply_status(control_plane, namespace, OPERATOR_MANAGER, {"observedGeneration": 1, "conditions": [ready, stalled]})
    first, second = ({"name": name, "state": "Ready"} for name in ("c0", "c1"))
    apply_status(control_plane, namespace, DRIVER_MANAGER, {"fleetUID": "u", "collectors": [first, second]})
    # Leaving out what one wrote before removes it, and only that.
    apply_status(control_plane, namespace, DRIVER_MANAGER, {"fleetUID": "u", "collectors": [second]})
    apply_status(control_plane, namespace, OPERATOR_MANAGER, {"observedGeneration": 2, "conditions": [ready]})
    assert control_plane.get("cfleet/cheetah", namespace)["status"] == {
        "observedGeneration": 2,
        "conditions": [ready],
        "fleetUID": "u",
        "collectors": [second],
    }


def test_scaling_to_a_number_that_does_not_divide_is_accepted(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest({"spec.collectors.replicas": 4, "spec.collectors.minAvailable": 4}), namespace)
    for replicas in (3, 7, 1, 4001):
        control_plane.kubectl("scale", "cfleet/cheetah", f"--replicas={replicas}", "-n", namespace)
    found = control_plane.get("cfleet/cheetah", namespace)
    assert found["spec"]["collectors"]["replicas"] == 4001
    # Anything else about the fleet can still be changed.
    control_plane.kubectl(
        *("patch", "cfleet/cheetah", "-n", namespace, "--type=merge"),
        *("-p", '{"spec": {"driver": {"train": {"kwargs": {"lr": 0.1}}}}}'),
    )


def test_the_scale_subresource_counts_what_is_available(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.apply(manifest(), namespace)
    apply_status(control_plane, namespace, OPERATOR_MANAGER, {"replicas": 3, "selector": "app=x"})
    path = f"/apis/collectorfleet.dev/v1alpha1/namespaces/{namespace}/collectorfleets/cheetah/scale"
    scale = json.loads(control_plane.kubectl("get", "--raw", path))
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 3, "selector": "app=x"}
