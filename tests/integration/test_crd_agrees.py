"""`collectorfleet validate` and the real API server agree on many odd fleets."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.errors import KubernetesError
from tests.integration.odd_manifests import nodes, odd_manifests
from tests.manifests import manifest

from collectorfleet_api.rules.validation import CHECKS, read
from collectorfleet_api.schema.crd import schema
from collectorfleet_api.v1alpha1 import CollectorFleet

pytestmark = pytest.mark.usefixtures("fleet_crd")

# What is free-form to the API server, amounts that are text, and arithmetic that CEL cannot afford.
ONLY_TOLD = {
    "templates-can-be-merged",
    "network-rules-are-known",
    "custom-resources-have-names",
    "memory-fits-a-process",
    "keywords-said-once",
    "learners-fit-into-shards",
    "simulator-addresses-are-the-fleets",
}
GPUS = [0, 0.25, 0.07, 0.3333, 0.33333, 0.6, 0.0001, 0.00005, 0.99999, 1, 1.5, 2, 4, 64, 65, -1, "0.5", True, 0.1 + 0.2]
QUANTITIES = [1, 0.5, "500m", "2Gi", "x", -1, 0, True, None, "", [1], {"a": 1}, "1e3", "1E", "+1", "1.", "1e999", 1e-7]
CHOICES: dict[str, list[Any]] = {
    "spec.collectors.resources.gpu": GPUS,
    "spec.driver.resources.gpu": GPUS,
    "spec.collectors.resources.cpu": QUANTITIES,
    "spec.collectors.resources.custom": [
        *({}, None, {"license": 1}, {"license": 0.5, "disk": 3}, {"license": 2.5}, {"license": 1_000_001}, {"a": None}),
        *({"license": amount} for amount in (0, -1, 0.0001, 0.00005, 0.12345, 0.1 + 0.2, "1", True)),
        {f"r{number}": 1 for number in range(17)},
    ],
    "spec.workers.customPerPod": [
        *({}, None, {"license": 2}, {"license": 2, "disk": 4}, {"license": 0}, {"license": 1.5}, {"license": "2"}),
        *({"license": 1_000_001}, {f"r{number}": 1 for number in range(17)}),
    ],
    "spec.workers.gpu.perPod": [1, 2, 5, 64, 65, 0, None],
    "spec.workers.collectorsPerPod": [1, 3, 4, 7, 16, 1000, 1001, None],
    "spec.collectors.replicas": [1, 2, 3, 7, 10_000, 10_001, 0, 1.5, None],
    "spec.collectors.class": ["Single", "Sync", "Async", "Collector", None],
    "spec.collectors.numWorkersPerCollector": [1, 2, 3, 1000, 1001, 0, None],
    "spec.collectors.devices": [
        *({}, None, {"device": "cuda"}, {"device": "cpu", "envDevice": "cuda:0"}, {"policyDevice": "cuda:1"}),
        *({"storingDevice": value} for value in ("cuda:63", "cuda:064", "cuda:", "gpu", "cuda:-1", "", 0, "cuda:0\n")),
    ],
    "spec.environment.process": [
        *({}, None, {"command": ["./sim"], "ports": ["grpc"]}, {"command": ["./sim"], "ports": []}),
        *({"command": [], "ports": ["grpc"]}, {"command": ["./sim"], "ports": ["grpc"], "readyTimeoutSeconds": 300}),
        *({"command": ["./sim"], "ports": [name]} for name in ("GRPC", "a-b", "-a", "a" * 15, "a" * 16, 1, None)),
        {"command": ["./sim"], "ports": ["grpc", "grpc"]},
    ],
    "spec.collectors.firstRequestTimeoutSeconds": [30, 60, 300],
    "spec.collectors.preCollectHook": ["a:b", "a", None],
    "spec.collectors.requestTimeoutSeconds": [1, 604_800, 604_801, 0, 0.5, None],
    "spec.collectors.noCudaSync": [True, None, 1],
    "spec.collectors.kwargs": [{"cat_results": "stack"}, {}, None, []],
    "spec.weights": [
        *({}, None, {"dtype": "BFloat16"}, {"dtype": "bfloat16"}),
        *({"maxWeightUpdateInterval": 2}, {"updateBetweenSteps": True}, {"updateAfterEachBatch": False}),
        *({"updateAfterEachBatch": False, "maxWeightUpdateInterval": value} for value in (0, 1, None)),
        *({"include": value} for value in ([], ["actor."], [""], ["a", "a"], "actor.", None)),
        *({"models": value} for value in ([], [{"path": "env.model", "factory": "a:b"}], [{"path": "env.model"}])),
        *({"models": [{"path": path, "factory": "a:b"}] * times} for path, times in (("m", 2), ("m:n", 1))),
    ],
    "spec.replayBuffer": [{"factory": "a:b"}, {}, None],
    "spec.evaluation": [
        *({}, None, [], {"replicas": 0}, {"replicas": 100}, {"replicas": 101}, {"keepBest": True}, {"keepBest": None}),
        *({"resources": resources} for resources in ({"cpu": "500m"}, {"memory": "x"}, {})),
        *({"resources": {"gpu": gpu}} for gpu in (0, 0.25, 0.33333, 1, 1.5, 2, 65, -1, "1")),
        *({"environment": environment} for environment in ({"factory": "a:b"}, {"factory": "a"}, {"kwargs": {"a": 1}})),
        *({"explorationType": kind} for kind in ("Mode", "mode")),
        *({"everyVersions": 10, **more} for more in ({}, {"everySeconds": 60}, {"everySeconds": 60, "everyFrames": 1})),
        *({"everyFrames": value} for value in (0, 1, 1.5)),
        *({"episodes": value} for value in (0, 1, 100_000, 100_001)),
        *({"seeds": value} for value in ([], [0], [-1], [2**31 - 1], [2**31], [0, 0], [0] * 1001, ["0"])),
        *({"stopWhen": value} for value in ({}, {"returnMean": 450}, {"returnMean": -0.5}, {"returnMean": "450"})),
        *({"video": {"episodes": value}} for value in (0, 1, 5, 6)),
        *({"video": value} for value in ({}, None, {"everyEvaluations": 0}, {"pixelKey": ""}, {"pixelKey": "pixels"})),
        *({"episodes": 3, "video": {"episodes": value}} for value in (3, 4)),
        *({"template": value} for value in ({}, {"spec": {"nodeSelector": {}}}, {"metadata": {}}, {"spec": []})),
    ],
    "spec.collectors.groups": [
        *([], None, [{"name": "a", "replicas": 4}], [{"name": "a", "replicas": 3}], [{"name": "head", "replicas": 4}]),
        *([{"name": name, "replicas": 4}] for name in ("evaluators", "A", "a-", "a" * 30, "a" * 31, "")),
        *([{"name": "a", "replicas": 3}, {"name": name}] for name in ("a", "b")),
        [{"name": f"g{index}"} for index in range(18)],
        *(
            [{"name": "a", "replicas": 3}, {"name": "b", **group}]
            for group in (
                *({"resources": {"gpu": gpu}} for gpu in (0.25, 0.33333, 1.5, 2, 65)),
                *({"workers": {"gpu": gpu}} for gpu in ({}, {"mode": "MIG"}, {"mode": "DRA"}, {"perPod": 2})),
                {"resources": {"gpu": 2}, "workers": {"gpu": {"perPod": 2}, "collectorsPerPod": 1}},
                {"resources": {"gpu": 0.3}, "workers": {"collectorsPerPod": 4}},
                {"devices": {"device": "cuda:1"}, "resources": {"gpu": 1}},
                {"devices": {"policyDevice": "cuda"}},
                *({"resources": {"custom": {"license": amount}}} for amount in (0.5, 1, 0.00005)),
                *({"workers": {"customPerPod": {"license": 1}, "collectorsPerPod": count}} for count in (1, 2)),
                {
                    "resources": {"custom": {"license": 0.5}},
                    "workers": {"customPerPod": {"license": 1}, "collectorsPerPod": 3},
                },
                {"resources": {"custom": {}}},
                *({"environment": environment} for environment in ({"factory": "a"}, {"kwargs": {"b": 1}}, None)),
                {"workers": {"template": {"nodeSelector": {}}}},
            )
        ),
    ],
    "spec.environment.perCollector": [1, 3, 4, 64],
    "spec.environment.kwargs": [{}, None, [], {"a": {"b": [None]}}],
    "spec.collection": [
        {"mode": mode, "framesPerBatch": frames, "maxStaleness": staleness}
        for mode in ("Sync", "Async", "sync")
        for frames in (1, 840, 4000, 0)
        for staleness in (None, 0, 1, -1)
    ],
    "spec.collection.mode": ["Sync", "Async"],
    "spec.collection.transport": ["ObjectStore", "TorchDistributed", "RPC", None],
    "spec.launcher": ["RayCluster", "Job", "mp", None],
    "spec.collection.shares": [1, 4, 7, 8, 10_000, 10_001, 0, None],
    "spec.collection.exactStaleness": [True, False, None, "true"],
    "spec.collection.maxStaleness": [0, 1, 5, None],
    "spec.collection.stragglers": [
        *({}, None, {"firstShares": 2}, {"firstShares": 4}, {"firstShares": 0}, {"preemptiveThreshold": 0.8}),
        *({"preemptiveThreshold": value} for value in (0, 1, 1.0, 1.1, -0.5, 1e-9, "0.8")),
        {"firstShares": 3, "preemptiveThreshold": 0.8},
    ],
    "spec.collection.maxFramesPerTraj": [1, 100, 0, -1, None],
    "spec.collection.initRandomFrames": [1, 1e6, 0, 0.5, None],
    "spec.collection.trajsPerBatch": [1, 0, None],
    "spec.collection.splitTrajs": [True, "yes", None],
    "spec.collection.copy": [True, False, 0, None],
    "spec.collection.explorationType": ["Random", "Mode", "Median", "Mean", "Deterministic", "RANDOM", None],
    "spec.collection.postproc": [{"factory": "a:b"}, {"factory": "a:b", "kwargs": {"n": 1}}, {}, "a:b", None],
    "spec.policy.trust": [True, False, None, "yes"],
    "spec.driver": [{}, None, {"train": {}}, {"train": None}, {"train": {"function": "a"}}],
    "spec.driver.checkpoint": [
        *({"claimName": "a"}, {"claimName": ""}, {}, None, {"claimName": "a", "everySeconds": 0}),
        *({"claimName": "a", "subPath": path} for path in ("b", "b/c.1", "/b", "../b", "b/..", "b/", "", "b//c")),
    ],
    "spec.output": [
        *({"path": "/x"}, {"path": ""}, None, {"path": "/x", "format": "Zip"}),
        {"path": "/x", "format": "ReplayBuffer"},
        {"path": "/x", "replayBuffer": {"factory": "a:b"}},
        {"path": "/x", "format": "ReplayBuffer", "replayBuffer": {"factory": "a:b"}},
    ],
    "spec.ray": [{"version": "2.51.9"}, {"version": "3.0.0"}, {"version": "2.60"}, {"version": 2.6}, None],
    "spec.policy.factory": ["a:b", "a.b:c.d", "a", "a:b:c", "ä:b", "a:b\n", None],
    "spec.imagePullSecrets": [[], [{"name": "a"}], [{"name": "a"}, {"name": "a"}], [{}], ["a"], None],
    "spec.priorityClassName": ["batch", "", "a/b", None],
    "spec.tolerations": [
        *([], None, [{}], [{"operator": "Exists"}], [{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]),
        *([{"key": "gpu", "operator": "In"}], [{"key": "a b"}], [{"key": "a", "value": "-"}], [{"key": ""}], ["gpu"]),
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
        [{"key": "a", "tolerationSeconds": 30}],
        [{"key": "a", "operator": "Exists", "value": "b"}],
    ],
    "spec.workers.template": [
        *({}, None, {"spec": {"nodeSelector": {}}}, {"nodeSelector": {}}, {"spec": []}, {"metadata": {"name": "x"}}),
        *({"spec": {"containers": {}}}, {"spec": {"containers": [{}]}}, {"metadata": {"labels": {"a": 1}}}),
    ],
    "spec.code": [{"configMap": "x"}, {"configMap": ""}, {}, None],
}


# Options that need or exclude each other.
OPTIONS = sorted(
    path
    for path in CHOICES
    if path.startswith(("spec.collection.", "spec.weights", "spec.replayBuffer", "spec.output", "spec.evaluation"))
    or path
    in ("spec.driver", "spec.collectors.class", "spec.collectors.numWorkersPerCollector", "spec.collectors.devices")
)
DIVISIBLE = {"mode": "Sync", "framesPerBatch": 840, "maxStaleness": 1}


def odd_fleets(combinations: int) -> list[dict[str, Any]]:
    """Return fleets with one changed field, and as many combinations, always the same: half of them of options."""
    choose = random.Random(0)
    found = [{path: value} for path, values in CHOICES.items() for value in values]
    for number in range(combinations):
        if number % 2:
            found.append(_changes(choose, choose.sample(sorted(CHOICES), choose.choice([2, 3]))))
        else:
            options = _changes(choose, choose.sample(OPTIONS, choose.choice([2, 3, 4])))
            found.append({"spec.collection": DIVISIBLE} | options)
    return [manifest(changes, name=f"odd-{index}") for index, changes in enumerate(found)]


def _changes(choose: random.Random, paths: list[str]) -> dict[str, Any]:
    # Sorted, so that a part comes before what is in it; a part that is no mapping leaves nothing to change in it.
    paths = sorted(paths)
    if "spec.driver" in paths[:-1]:
        paths = [path for path in paths if not path.startswith("spec.driver.")]
    return {path: choose.choice(CHOICES[path]) for path in paths}


def accepted_of(control_plane: ControlPlane, namespace: str, fleets: list[dict[str, Any]]) -> set[str]:
    """Names of those that the API server takes."""
    text = "\n---\n".join(json.dumps(fleet) for fleet in fleets)
    told = ""
    try:
        told = control_plane.kubectl(
            *("create", "--dry-run=server", "--validate=strict", "-n", namespace, "-o", "name", "-f", "-"),
            input=text,
            timeout=300 + len(fleets) / 10,
        )
    except KubernetesError as refused:
        told = refused.stdout
    return set(re.findall(r"odd-\d+", told))


def test_validate_and_the_api_server_agree_on_odd_fleets(
    control_plane: ControlPlane, namespace: str, pytestconfig: pytest.Config
) -> None:
    fleets = odd_fleets(combinations=3 * pytestconfig.getoption("odd_manifests"))
    accepted = accepted_of(control_plane, namespace, fleets)
    ours = {fleet["metadata"]["name"] for fleet in fleets if not isinstance(read(fleet), list)}
    assert len(fleets) / 8 < len(accepted) < len(fleets) * 0.9, "the sample has both kinds"
    by_name = {fleet["metadata"]["name"]: fleet["spec"] for fleet in fleets}
    assert {name: by_name[name] for name in ours ^ accepted} == {}


def test_they_agree_wherever_something_is_odd(
    control_plane: ControlPlane, namespace: str, pytestconfig: pytest.Config
) -> None:
    count = pytestconfig.getoption("odd_manifests")
    fleets = odd_manifests(count, seed=count)
    accepted = accepted_of(control_plane, namespace, fleets)
    assert count / 10 < len(accepted) < count * 0.9, "the sample has both kinds"
    differing = {}
    for fleet in fleets:
        found = read(fleet)
        taken = fleet["metadata"]["name"] in accepted
        if taken is isinstance(found, list) and not (taken and only_told(fleet)):
            differing[fleet["metadata"]["name"]] = (found, fleet["spec"])
    assert differing == {}


def only_told(fleet: dict[str, Any]) -> bool:
    """Whether all that is wrong with it is what no rule of a CRD can see."""
    read_as_is = CollectorFleet.parse(fleet)
    return {name for name, check in CHECKS.items() if any(check(read_as_is))} <= ONLY_TOLD


def test_every_field_is_odd_in_some_of_them() -> None:
    fields = {".".join(map(str, path)) for path, _ in nodes(schema()["properties"]["spec"])}
    assert len(fields) > 150
    drawn = [path for fleet in odd_manifests(3000) for path in found_in(fleet["spec"])]
    assert fields - set(drawn) == set()


def found_in(value: Any, path: str = "") -> list[str]:
    inner = {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}
    inner |= {"0": value[0]} if isinstance(value, list) and value else {}
    return [path, *(found for key, one in inner.items() for found in found_in(one, f"{path}.{key}" if path else key))]
