"""The Workload in the versions of Kueue's API."""

from __future__ import annotations

import pytest
from tests.unit.collectorfleet_operator.children.fleets import fleet

from collectorfleet_api import names
from collectorfleet_operator.children.workload import (
    FLAVOR,
    PRIORITY_CLASS,
    WORKLOAD,
    KueueVersion,
    newest_served,
    with_priority,
    workload,
)
from collectorfleet_operator.decide.workload import read_workload
from collectorfleet_operator.objects import Object

QUEUED = {"metadata.labels": {names.QUEUE_LABEL: "team"}}


def made_in(version: KueueVersion) -> Object:
    return with_priority(workload(fleet(QUEUED), version), "urgent", 7, version)


def test_v1beta2_names_the_priority_class_by_a_reference() -> None:
    made = made_in(KueueVersion.V1BETA2)
    assert made["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    spec = made["spec"]
    assert spec["priority"] == 7
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    assert spec["priorityClassRef"] == reference
    assert not {"priorityClassName", "priorityClassSource"} & spec.keys()


def test_v1beta1_names_the_priority_class_and_its_kind() -> None:
    made = made_in(KueueVersion.V1BETA1)
    assert made["apiVersion"] == "kueue.x-k8s.io/v1beta1"
    spec = made["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (7, "urgent")
    assert spec["priorityClassSource"] == "kueue.x-k8s.io/workloadpriorityclass"
    assert "priorityClassRef" not in spec


def test_quota_for_the_workload_of_one_version_is_quota_for_that_of_the_other() -> None:
    old, new = made_in(KueueVersion.V1BETA1), made_in(KueueVersion.V1BETA2)
    assert old["spec"]["podSets"] == new["spec"]["podSets"]
    old["metadata"]["uid"] = "stored"
    assert read_workload(old).is_quota_for(new)


@pytest.mark.parametrize(
    ("served", "written"),
    [
        (("v1beta1", "v1alpha1"), KueueVersion.V1BETA1),  # Kueue 0.14
        (("v1beta1", "v1beta2"), KueueVersion.V1BETA2),
        (("v1beta2",), KueueVersion.V1BETA2),
        (("v1", "v1beta2"), KueueVersion.V1BETA2),
        (("v1",), None),
        ((), None),
    ],
)
def test_the_newest_version_is_written_that_kueue_serves(served: tuple[str, ...], written: KueueVersion | None) -> None:
    assert newest_served(served) is written


def test_a_workload_has_the_priority_class_of_its_pods() -> None:
    template = {"spec": {"priorityClassName": "research"}}
    made = workload(fleet({**QUEUED, "spec.workers.template": template}), KueueVersion.V1BETA2)
    classes = {one["name"]: one["template"]["spec"].get("priorityClassName") for one in made["spec"]["podSets"]}
    assert classes == {"driver": None, "head": None, "workers-collectors": "research"}


def test_flavors_and_priority_classes_belong_to_the_cluster_and_workloads_to_a_namespace() -> None:
    assert {kind.kind: kind.namespaced for kind in (FLAVOR, PRIORITY_CLASS, WORKLOAD)} == {
        "ResourceFlavor": False,
        "WorkloadPriorityClass": False,
        "Workload": True,
    }
