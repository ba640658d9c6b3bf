"""How much a pod that fits nowhere asks for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from collectorfleet_operator.decide.requested import insufficient_requests, request


def container(**requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **spec}}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "nvidia.com/gpu: 1", id="a GPU"),
        pytest.param(
            "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory. preemption: 0/2 nodes are available: "
            "2 No preemption victims found for incoming pod.",
            "cpu: 1200m, memory: 3Gi",
            id="two resources",
        ),
        pytest.param(
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Insufficient cpu.",
            "cpu: 1200m",
            id="said twice",
        ),
        pytest.param("0/1 nodes are available: 1 Insufficient hugepages-2Mi", "hugepages-2Mi: 64Mi", id="huge pages"),
        pytest.param("0/2 nodes are available: 2 node(s) had untolerated taint {a: b}.", "", id="a taint"),
        pytest.param("", "", id="no words"),
    ],
)
def test_only_what_nodes_have_too_little_of_is_named(words: str, text: str) -> None:
    asks = container(cpu="1200m", memory="3072Mi", **{"nvidia.com/gpu": "1", "hugepages-2Mi": "64Mi"})
    assert insufficient_requests(pod(asks), words) == text


@pytest.mark.parametrize(
    ("found", "cpus"),
    [
        pytest.param(pod(container(cpu=2), container(cpu="500m")), "2.5", id="containers run together"),
        pytest.param(pod({"resources": {"limits": {"cpu": 3}}}), "3", id="a limit alone"),
        pytest.param(pod({}), "0", id="nothing"),
        pytest.param(pod(container(cpu=2), initContainers=[container(cpu=1), container(cpu=1)]), "2", id="small inits"),
        pytest.param(pod(container(cpu=2), initContainers=[container(cpu=4), container(cpu=1)]), "4", id="large init"),
        pytest.param(
            pod(container(cpu=2), initContainers=[{**container(cpu=1), "restartPolicy": "Always"}, container(cpu=4)]),
            "5",
            id="an init beside a sidecar",
        ),
        pytest.param(
            pod(container(cpu=2), initContainers=[container(cpu=2), {**container(cpu=1), "restartPolicy": "Always"}]),
            "3",
            id="a sidecar beside the containers",
        ),
        pytest.param(pod(container(cpu=2), overhead={"cpu": "250m"}), "2.25", id="overhead"),
        pytest.param(pod(container(cpu=2), resources={"requests": {"cpu": 6}}), "6", id="of the pod as a whole"),
    ],
)
def test_a_request_is_what_one_node_has_to_have(found: dict[str, Any], cpus: str) -> None:
    assert request(found, "cpu") == Fraction(cpus)
