"""Two fields of a pod that exclude or need each other: refused by name, with what to change."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_api.rules.pods.conditions import CONDITIONS
from collectorfleet_api.rules.sentences import path_text

OURS = {"name": "driver", "image": "lab:1"}
LOCALHOST = {"type": "Localhost"}
NO_ESCALATION = {"allowPrivilegeEscalation": False}


def problems(type_: str, value: dict[str, Any]) -> list[tuple[str, str]]:
    """Path within the value and message of each problem."""
    found = [one for condition in CONDITIONS[type_] for one in condition(value, ())]
    return [(path_text(one.path), one.message) for one in found]


def pod(**fields: Any) -> dict[str, Any]:
    return {"containers": [OURS], **fields}


def init(**fields: Any) -> dict[str, Any]:
    return pod(initContainers=[{"name": "fetch", "image": "lab:1", **fields}])


def env(path: str, **others: Any) -> dict[str, Any]:
    return {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}, **others}


def toleration(**fields: Any) -> dict[str, Any]:
    return {"key": "gpu", "operator": "Exists", **fields}


REFUSED = [
    pytest.param(
        "PodSpec",
        {"containers": [OURS, {"name": "sidecar"}]},
        "containers[1].image",
        "missing: container sidecar runs beside driver; add its image, or rename it to driver",
        id="a container beside ours has no image",
    ),
    pytest.param(
        "PodSpec",
        pod(initContainers=[{"name": "fetch"}]),
        "initContainers[0].image",
        "missing: container fetch runs beside driver; add its image",
        id="an init container has no image",
    ),
    *(
        pytest.param(
            "PodSpec",
            init(**{field: {}}),
            f"initContainers[0].{field}",
            "an init container ends before the other containers start; set its restartPolicy to Always, or "
            f"leave {field} out",
            id=f"{field} of an init container",
        )
        for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
    ),
    pytest.param(
        "PodSpec",
        pod(dnsPolicy="None"),
        "dnsPolicy",
        "dnsPolicy None needs a DNS server; add dnsConfig.nameservers",
        id="no DNS policy and no server",
    ),
    pytest.param(
        "PodSpec",
        pod(hostPID=True, shareProcessNamespace=True),
        "shareProcessNamespace",
        "cannot be true together with hostPID; keep one of the two",
        id="two process namespaces",
    ),
    pytest.param(
        "PodSpec",
        {"hostNetwork": True, "containers": [{**OURS, "ports": [{"containerPort": 1, "hostPort": 2}]}]},
        "containers[0].ports[0].hostPort",
        "2 differs from containerPort 1; with hostNetwork, make the two ports equal",
        id="another port on the host's network",
    ),
    *(
        pytest.param(
            "Container",
            {field: {"successThreshold": number}},
            f"{field}.successThreshold",
            f"{number} is not allowed here; use 1, or leave this field out",
            id=f"{field} with threshold {number}",
        )
        for field in ("livenessProbe", "startupProbe")
        for number in (2, -1)
    ),
    pytest.param(
        "Container",
        {"readinessProbe": {"terminationGracePeriodSeconds": 0}},
        "readinessProbe.terminationGracePeriodSeconds",
        "a readiness probe never ends its container; leave terminationGracePeriodSeconds out",
        id="a grace period of a readiness probe",
    ),
    pytest.param(
        "EnvVar",
        env("metadata.name", value="x"),
        "valueFrom",
        "value and valueFrom are both set; keep one of the two",
        id="a value and a source",
    ),
    pytest.param(
        "EnvVar",
        env("metadata.nam"),
        "valueFrom.fieldRef.fieldPath",
        '"metadata.nam" is not one of metadata.name, metadata.namespace, metadata.uid, spec.nodeName, '
        "spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP, status.podIPs; did you mean "
        "metadata.name?",
        id="a field that no variable has",
    ),
    *(
        pytest.param("EnvVar", env(path), "valueFrom.fieldRef.fieldPath", f'"{path}" is not one of ', id=path)
        for path in ("metadata.labels", "metadata.labels['a'", "metadata.finalizers['a']", "metadata.labelsa']")
    ),
    pytest.param(
        "DownwardAPIVolumeFile",
        {"fieldRef": {"fieldPath": "spec.nodeName"}},
        "fieldRef.fieldPath",
        '"spec.nodeName" is not one of metadata.annotations, metadata.labels, metadata.name, metadata.namespace, '
        "metadata.uid",
        id="a field that no file has",
    ),
    *(
        pytest.param(
            "DownwardAPIVolumeFile",
            {"resourceFieldRef": ref},
            "resourceFieldRef.containerName",
            "missing, and required in a volume",
            id=f"a file of no container {ref}",
        )
        for ref in ({}, {"resource": "limits.cpu", "containerName": ""})
    ),
    *(
        pytest.param("ResourceFieldSelector", {"resource": name}, "resource", f'"{name}" is not one of ', id=name)
        for name in ("limits.gpu", "cpu", "hugepages-2Mi")
    ),
    *(
        pytest.param(
            type_,
            LOCALHOST,
            "localhostProfile",
            "missing, and required with type Localhost",
            id=f"{type_} without its profile",
        )
        for type_ in ("SeccompProfile", "AppArmorProfile")
    ),
    pytest.param(
        "SeccompProfile",
        {"type": "RuntimeDefault", "localhostProfile": "a"},
        "localhostProfile",
        '"type: RuntimeDefault" takes no localhostProfile; leave this field out, or set type to Localhost',
        id="a profile of another type",
    ),
    pytest.param(
        "SecurityContext",
        {**NO_ESCALATION, "privileged": True},
        "privileged",
        "cannot be used with allowPrivilegeEscalation false, which is the operator's default; set "
        "allowPrivilegeEscalation to true, or leave this field out",
        id="privileged",
    ),
    pytest.param(
        "SecurityContext",
        {**NO_ESCALATION, "capabilities": {"add": ["CAP_CHOWN", "CAP_SYS_ADMIN"]}},
        "capabilities.add",
        "cannot be used with allowPrivilegeEscalation false, which is the operator's default; set "
        "allowPrivilegeEscalation to true, or leave this field out",
        id="an administrator's capability",
    ),
    pytest.param(
        "Toleration",
        {"operator": "Equal"},
        "operator",
        'a toleration without a key matches all taints and needs "operator: Exists"; set operator to Exists, or set a '
        "key",
        id="no key",
    ),
    pytest.param(
        "Toleration",
        toleration(value="x"),
        "value",
        '"operator: Exists" takes no value; leave value out, or set operator to Equal',
        id="a value that must only exist",
    ),
    pytest.param(
        "Toleration",
        toleration(tolerationSeconds=0, effect="NoSchedule"),
        "tolerationSeconds",
        "tolerationSeconds applies only to effect NoExecute; set effect to NoExecute",
        id="seconds of a taint that evicts nobody",
    ),
    *(
        pytest.param(
            "NodeSelectorRequirement",
            {"operator": operator},
            "values",
            f"missing, and required with operator {operator}",
            id=f"{operator} without values",
        )
        for operator in ("In", "NotIn")
    ),
    *(
        pytest.param(
            "LabelSelectorRequirement",
            {"operator": operator, "values": ["a"]},
            "values",
            f'"operator: {operator}" takes no values; leave values out, or use In',
            id=f"{operator} with a value",
        )
        for operator in ("Exists", "DoesNotExist")
    ),
    *(
        pytest.param(
            "NodeSelectorRequirement",
            {"operator": operator, "values": values},
            "values",
            f'"operator: {operator}" compares with one number, but this list has {len(values)} items; write one number',
            id=f"{operator} with {len(values)} values",
        )
        for operator in ("Gt", "Lt")
        for values in ([], ["1", "2"])
    ),
    pytest.param(
        "TopologySpreadConstraint",
        {"minDomains": 0, "whenUnsatisfiable": "ScheduleAnyway"},
        "minDomains",
        "needs whenUnsatisfiable DoNotSchedule; set whenUnsatisfiable, or leave minDomains out",
        id="a minimum that nothing enforces",
    ),
    pytest.param(
        "PodDNSConfig",
        {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]},
        "nameservers",
        "4 are too many; use at most 3",
        id="four servers",
    ),
    *(
        pytest.param(
            "PersistentVolumeClaimSpec",
            {"resources": resources},
            "resources.requests.storage",
            "missing, and required in a claim",
            id=f"a claim of no size {resources}",
        )
        for resources in ({}, {"requests": {}}, {"limits": {"storage": "1Gi"}})
    ),
]


@pytest.mark.parametrize(("type_", "value", "path", "message"), REFUSED)
def test_fields_that_do_not_fit_are_refused_with_their_place(
    type_: str, value: dict[str, Any], path: str, message: str
) -> None:
    ((found_path, found),) = problems(type_, value)
    assert found_path == path
    assert found.startswith(message) if message.endswith(" ") else found == message


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("PodSpec", pod()),
        ("PodSpec", pod(initContainers=None)),
        ("PodSpec", init()),
        ("PodSpec", init(restartPolicy="Always", livenessProbe={}, readinessProbe={}, startupProbe={}, lifecycle={})),
        ("PodSpec", pod(dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.1"]})),
        ("PodSpec", pod(dnsPolicy="Default")),
        ("PodSpec", pod(hostPID=True)),
        ("PodSpec", pod(shareProcessNamespace=True)),
        ("PodSpec", {"containers": [{**OURS, "ports": [{"containerPort": 1, "hostPort": 2}]}]}),
        ("PodSpec", {"hostNetwork": True, "containers": [{**OURS, "ports": [{"containerPort": 1, "hostPort": 1}]}]}),
        ("PodSpec", {"hostNetwork": True, "containers": [{**OURS, "ports": [{"containerPort": 1}]}]}),
        ("Container", {"livenessProbe": {"successThreshold": 1}, "startupProbe": {"successThreshold": 0}}),
        ("Container", {"readinessProbe": {"successThreshold": 3}}),
        ("Container", {"livenessProbe": {"terminationGracePeriodSeconds": 5}}),
        ("EnvVar", {"name": "A", "value": "x"}),
        ("EnvVar", env("metadata.labels['app']", value="")),
        ("EnvVar", env("metadata.annotations['app']")),
        ("EnvVar", env("spec.nodeName")),
        ("DownwardAPIVolumeFile", {"fieldRef": {"fieldPath": "metadata.labels"}}),
        ("DownwardAPIVolumeFile", {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "driver"}}),
        ("ResourceFieldSelector", {"resource": "limits.cpu"}),
        ("ResourceFieldSelector", {"resource": "requests.ephemeral-storage"}),
        ("ResourceFieldSelector", {"resource": "limits.hugepages-2Mi"}),
        ("ResourceFieldSelector", {"resource": "requests.hugepages-2Mi"}),
        ("SeccompProfile", {"type": "Localhost", "localhostProfile": "a"}),
        ("AppArmorProfile", {"type": "Unconfined"}),
        ("SecurityContext", {**NO_ESCALATION, "capabilities": {"add": ["CAP_CHOWN"]}}),
        ("SecurityContext", {"allowPrivilegeEscalation": True, "privileged": True}),
        ("SecurityContext", {"privileged": True}),
        ("Toleration", {"operator": "Exists"}),
        ("Toleration", toleration()),
        ("Toleration", {"key": "gpu", "operator": "Equal", "value": "x"}),
        ("Toleration", {"key": "gpu"}),
        ("Toleration", toleration(tolerationSeconds=30, effect="NoExecute")),
        ("NodeSelectorRequirement", {"operator": "In", "values": ["a"]}),
        ("NodeSelectorRequirement", {"operator": "NotIn", "values": ["a", "b"]}),
        ("NodeSelectorRequirement", {"operator": "Exists"}),
        ("NodeSelectorRequirement", {"operator": "Gt", "values": ["1"]}),
        ("TopologySpreadConstraint", {"minDomains": 2, "whenUnsatisfiable": "DoNotSchedule"}),
        ("TopologySpreadConstraint", {"whenUnsatisfiable": "ScheduleAnyway"}),
        ("PodDNSConfig", {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3"]}),
        ("PersistentVolumeClaimSpec", {"resources": {"requests": {"storage": "1Gi"}}}),
        ("PersistentVolumeClaimSpec", {}),
    ],
)
def test_fields_that_fit_are_taken(type_: str, value: dict[str, Any]) -> None:
    assert problems(type_, value) == []


def test_each_problem_of_a_pod_is_told_at_once() -> None:
    bare = {"name": "a"}
    found = problems("PodSpec", pod(initContainers=[bare, {**bare, "restartPolicy": "Always", "image": "x"}, bare]))
    assert [path for path, _ in found] == ["initContainers[0].image", "initContainers[2].image"]
