"""`collectorfleet validate` and the real API server agree on many odd fleets."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from tests.cluster.client import KubectlError
from tests.cluster.control_plane import ControlPlane
from tests.manifests import manifest

from collectorfleet_api.validation import read

pytestmark = pytest.mark.usefixtures("fleet_crd")

GPUS = [0, 0.25, 0.07, 0.3333, 0.33333, 0.6, 0.0001, 0.00005, 0.99999, 1, 1.5, 2, 4, 64, 65, -1, "0.5", True, 0.1 + 0.2]
QUANTITIES = [1, 0.5, "500m", "2Gi", "x", -1, 0, True, None, "", [1], {"a": 1}, "1e3", "1E", "+1", "1.", "1e999", 1e-7]
CHOICES: dict[str, list[Any]] = {
    "spec.collectors.resources.gpu": GPUS,
    "spec.driver.resources.gpu": GPUS,
    "spec.collectors.resources.cpu": QUANTITIES,
    "spec.workers.gpu.perPod": [1, 2, 5, 64, 65, 0, None],
    "spec.workers.collectorsPerPod": [1, 3, 4, 7, 16, 1000, 1001, None],
    "spec.collectors.replicas": [1, 2, 3, 7, 10_000, 10_001, 0, 1.5, None],
    "spec.environment.perCollector": [1, 3, 4, 64],
    "spec.environment.kwargs": [{}, None, [], {"a": {"b": [None]}}],
    "spec.collection": [
        {"mode": mode, "framesPerBatch": frames, "maxStaleness": staleness}
        for mode in ("Sync", "Async", "sync")
        for frames in (1, 840, 4000, 0)
        for staleness in (None, 0, 1, -1)
    ],
    "spec.driver": [{}, None, {"train": {}}, {"train": None}, {"train": {"function": "a"}}],
    "spec.output": [{"path": "/x"}, {"path": ""}, None, {"path": "/x", "format": "Zip"}],
    "spec.ray": [{"version": "2.51.9"}, {"version": "3.0.0"}, {"version": "2.60"}, {"version": 2.6}, None],
    "spec.policy.factory": ["a:b", "a.b:c.d", "a", "a:b:c", "ä:b", "a:b\n", None],
    "spec.imagePullSecrets": [[], [{"name": "a"}], [{"name": "a"}, {"name": "a"}], [{}], ["a"], None],
    "spec.workers.template": [
        *({}, None, {"spec": {"nodeSelector": {}}}, {"nodeSelector": {}}, {"spec": []}, {"metadata": {"name": "x"}}),
        *({"spec": {"containers": {}}}, {"spec": {"containers": [{}]}}, {"metadata": {"labels": {"a": 1}}}),
    ],
    "spec.code": [{"configMap": "x"}, {"configMap": ""}, {}, None],
}


def odd_fleets(count: int) -> list[dict[str, Any]]:
    """Fleets with one to three fields changed, always the same ones."""
    choose = random.Random(0)
    found = [{path: value} for path, values in CHOICES.items() for value in values]
    while len(found) < count:
        # Sorted, so that a part comes before what is in it; a part that is no mapping leaves nothing to change in it.
        paths = sorted(choose.sample(sorted(CHOICES), choose.choice([2, 3])))
        if "spec.driver" not in paths[:-1]:
            found.append({path: choose.choice(CHOICES[path]) for path in paths})
    return [manifest(changes, name=f"odd-{index}") for index, changes in enumerate(found)]


def test_validate_and_the_api_server_agree_on_odd_fleets(control_plane: ControlPlane, namespace: str) -> None:
    fleets = odd_fleets(1500)
    text = "\n---\n".join(json.dumps(fleet) for fleet in fleets)
    told = ""
    try:
        told = control_plane.kubectl(
            *("create", "--dry-run=server", "--validate=strict", "-n", namespace, "-o", "name", "-f", "-"), input=text
        )
    except KubectlError as refused:
        told = refused.stdout
    accepted = set(re.findall(r"odd-\d+", told))
    ours = {fleet["metadata"]["name"] for fleet in fleets if not isinstance(read(fleet), list)}
    assert 200 < len(accepted) < 1300, "the sample has both kinds"
    by_name = {fleet["metadata"]["name"]: fleet["spec"] for fleet in fleets}
    assert {name: by_name[name] for name in ours ^ accepted} == {}
