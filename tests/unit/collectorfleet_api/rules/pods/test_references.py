"""Names, volumes, claims and amounts of the containers of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_api.rules.pods.references import reference_problems
from collectorfleet_api.rules.sentences import path_text

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
EMPTY = {"name": "scratch", "emptyDir": {}}
GPU = "nvidia.com/gpu"


def problems(spec: dict[str, Any]) -> list[tuple[str, str]]:
    return [(path_text(one.path), one.message) for one in reference_problems(spec)]


def container(**fields: Any) -> dict[str, Any]:
    return {
        "containers": [{"name": "driver", **fields}],
        "volumes": [CLAIM, EMPTY],
        "resourceClaims": [{"name": "gpus"}],
    }


def mounts(*found: dict[str, Any]) -> dict[str, Any]:
    return container(volumeMounts=list(found))


def amounts(**resources: Any) -> dict[str, Any]:
    return container(resources=resources)


HERE = "spec.containers[0]"


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "c"}, {"name": "a"}]},
            "spec.initContainers[1].name",
            "a container in containers is also named a; rename one of them",
            id="one name for two containers",
        ),
        pytest.param(
            mounts({"name": "dat", "mountPath": "/a"}),
            f"{HERE}.volumeMounts[0].name",
            "no volume is named dat; add it to spec.volumes; did you mean data?",
            id="a volume that the pod does not have",
        ),
        pytest.param(
            container(volumeDevices=[{"name": "scratch", "devicePath": "/dev/a"}]),
            f"{HERE}.volumeDevices[0].name",
            "volume scratch is not a claim, and only claims are block devices",
            id="a device that is no claim",
        ),
        pytest.param(
            mounts({"name": "data", "mountPath": "/a"}, {"name": "scratch", "mountPath": "/a"}),
            f"{HERE}.volumeMounts[1].mountPath",
            "/a is taken by volume data; mount each at its own path",
            id="two volumes at one path",
        ),
        pytest.param(
            container(
                volumeMounts=[{"name": "scratch", "mountPath": "/a"}],
                volumeDevices=[{"name": "data", "devicePath": "/a"}],
            ),
            f"{HERE}.volumeDevices[0].devicePath",
            "/a is taken by volume scratch; mount each at its own path",
            id="a device where a volume is",
        ),
        pytest.param(
            mounts({"name": "data", "mountPath": "/a", "subPath": "x", "subPathExpr": "$(A)"}),
            f"{HERE}.volumeMounts[0].subPathExpr",
            "subPath and subPathExpr are both set; keep one of the two",
            id="two paths in a volume",
        ),
        pytest.param(
            container(ports=[{"name": "http"}, {"name": "grpc"}, {"name": "http"}]),
            f"{HERE}.ports[2].name",
            "http appears twice; names of ports are unique",
            id="one name for two ports",
        ),
        pytest.param(
            amounts(claims=[{"name": "gpus"}, {"name": "gpu"}]),
            f"{HERE}.resources.claims[1].name",
            "no claim is named gpu; add it to spec.resourceClaims; did you mean gpus?",
            id="a claim that the pod does not have",
        ),
        pytest.param(
            amounts(limits={"gpu": 1}),
            f"{HERE}.resources.limits.gpu",
            "containers have no such resource; an extended resource has a domain, such as nvidia.com/gpu",
            id="a resource without a domain",
        ),
        pytest.param(
            amounts(requests={"memry": "1Gi"}),
            f"{HERE}.resources.requests.memry",
            "containers have no such resource; an extended resource has a domain; did you mean memory?",
            id="a misspelt resource",
        ),
        pytest.param(
            amounts(requests={GPU: 1}),
            f"{HERE}.resources.requests.{GPU}",
            "nvidia.com/gpu needs a limit of the same amount; add this limit",
            id="a request for a GPU without a limit",
        ),
        pytest.param(
            amounts(limits={GPU: "500m"}),
            f"{HERE}.resources.limits.{GPU}",
            "500m is not a whole number, and nvidia.com/gpu has no fractions; use a whole number",
            id="half a GPU",
        ),
        pytest.param(
            amounts(limits={"cpu": 1}, requests={"cpu": "1500m"}),
            f"{HERE}.resources.limits.cpu",
            "limit 1 of cpu is below request 1500m; raise the limit, or lower the request",
            id="a limit below the request",
        ),
        pytest.param(
            amounts(limits={GPU: 2}, requests={GPU: 1}),
            f"{HERE}.resources.limits.{GPU}",
            "limit 2 of nvidia.com/gpu is above request 1; make them equal",
            id="more GPUs than requested",
        ),
        pytest.param(
            amounts(limits={GPU: 1}, requests={GPU: 2}),
            f"{HERE}.resources.limits.{GPU}",
            "limit 1 of nvidia.com/gpu is below request 2; make them equal",
            id="fewer GPUs than requested",
        ),
        pytest.param(
            amounts(limits={"hugepages-2Mi": "4Mi"}, requests={"hugepages-2Mi": "2Mi"}),
            f"{HERE}.resources.limits.hugepages-2Mi",
            "limit 4Mi of hugepages-2Mi is above request 2Mi; make them equal",
            id="huge pages are not shared",
        ),
        pytest.param(
            {**container(), "resources": {"limits": {"cpu": 1}, "requests": {"cpu": 2}}},
            "spec.resources.limits.cpu",
            "limit 1 of cpu is below request 2; raise the limit, or lower the request",
            id="of the whole pod",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(spec: dict[str, Any], path: str, message: str) -> None:
    assert problems(spec) == [(path, message)]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "c"}]}, id="names"),
        pytest.param(
            mounts({"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b", "subPath": "x"}),
            id="one volume at two paths",
        ),
        pytest.param(mounts({"name": "data", "mountPath": "/a", "subPathExpr": "$(A)"}), id="one path in a volume"),
        pytest.param(container(volumeDevices=[{"name": "data", "devicePath": "/dev/a"}]), id="a claim as a device"),
        pytest.param(
            {
                "containers": [{"name": "a", "volumeDevices": [{"name": "tmp", "devicePath": "/dev/a"}]}],
                "volumes": [{"name": "tmp", "ephemeral": {}}],
            },
            id="an ephemeral claim as a device",
        ),
        pytest.param(container(ports=[{"name": "http"}, {"containerPort": 1}, {"containerPort": 2}]), id="ports"),
        pytest.param(amounts(claims=[{"name": "gpus"}]), id="a claim"),
        pytest.param(amounts(limits={"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1Gi"}), id="limits"),
        pytest.param(amounts(limits={"cpu": 2}, requests={"cpu": 1, "memory": "1Gi"}), id="a limit above the request"),
        pytest.param(amounts(limits={"cpu": 1}, requests={"cpu": 1}), id="equal"),
        pytest.param(amounts(limits={GPU: 1}, requests={GPU: 1}), id="equal GPUs"),
        pytest.param(amounts(limits={GPU: "1000m"}), id="a whole GPU in thousandths"),
        pytest.param(amounts(limits={GPU: None, "cpu": 1}, requests={GPU: None}), id="taken out"),
        pytest.param(amounts(requests={"kubernetes.io/batch-cpu": "500m"}), id="a resource of Kubernetes"),
        pytest.param(amounts(limits={"hugepages-2Mi": "2Mi"}, requests={"hugepages-2Mi": "2Mi"}), id="huge pages"),
        pytest.param(
            {"containers": [{"name": "a", "volumeMounts": None, "ports": None, "resources": None}]}, id="nothing"
        ),
    ],
)
def test_what_fits_is_taken(spec: dict[str, Any]) -> None:
    assert problems(spec) == []


def test_a_problem_of_two_amounts_names_both_places() -> None:
    (found,) = reference_problems(amounts(limits={"cpu": 1}, requests={"cpu": 2}))
    assert path_text(found.other) == f"{HERE}.resources.requests.cpu"
