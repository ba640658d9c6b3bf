"""values.schema.json: what the API server would drop or refuse is refused by name, before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest
from tests.delivery.fleet_chart.chart import refusal, render, spec
from tests.delivery.helm import Helm
from tests.manifests import ABSENT


def values(changes: dict[str, Any]) -> dict[str, Any]:
    """Of a small fleet, with changes by path."""
    found: dict[str, Any] = {"fleet": spec()}
    for path, value in changes.items():
        *parents, last = path.split(".")
        at = found
        for part in parents:
            at = at.setdefault(part, {})
        if value is ABSENT:
            del at[last]
        else:
            at[last] = value
    return found


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        pytest.param({"fleet.collection.framesPerBach": 1}, "fleet/collection", "framesPerBach", id="misspelt"),
        pytest.param({"fleet.replicas": 2}, "fleet", "replicas", id="in-the-wrong-place"),
        pytest.param({"replicas": 2}, "", "replicas", id="beside-fleet"),
        pytest.param({"fleet.workers.template.nodeSelector": {}}, "workers/template", "nodeSelector", id="template"),
        pytest.param(
            {"fleet.weights": {"models": [{"factory": "a:b", "path": "c", "x": 1}]}}, "models/0", "x", id="list"
        ),
        pytest.param({"fleet.image": ABSENT}, "fleet", "image", id="missing"),
        pytest.param({"fleet.policy.factory": None}, "policy/factory", "null", id="null"),
        # A server-side apply would refuse it too, after the code was sent.
        pytest.param({"fleet.policy.kwargs": None}, "policy/kwargs", "null", id="null-and-not-required"),
        pytest.param({"fleet": ABSENT}, "fleet", "image", id="nothing-at-all"),
        pytest.param({"fleet.collection.framesPerBatch": "many"}, "framesPerBatch", "string", id="type"),
        pytest.param({"fleet.collection.framesPerBatch": 0.5}, "framesPerBatch", "want integer", id="fraction"),
        pytest.param({"fleet.collection.framesPerBatch": 0}, "framesPerBatch", "0", id="minimum"),
        pytest.param({"fleet.collection.mode": "sync"}, "collection/mode", "Sync", id="enum"),
        pytest.param(
            {"fleet.environment.factory": "my_envs.make"}, "environment/factory", "my_envs.make", id="pattern"
        ),
        pytest.param(
            {"fleet.collectors": {"resources": {"cpu": "2 cores"}}}, "resources/cpu", "2 cores", id="quantity"
        ),
        pytest.param({"fleet.collectors": {"resources": {"memory": 4}}}, "resources/memory", "got 4", id="bytes"),
        pytest.param({"fleet.collectors": {"resources": {"cpu": True}}}, "resources/cpu", "boolean", id="boolean"),
        pytest.param({"fleet.collectors": {"resources": {"cpu": {}}}}, "resources/cpu", "object", id="mapping"),
        pytest.param(
            {"fleet.updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}},
            "maxUnavailable",
            "0%",
            id="percentage",
        ),
        pytest.param(
            {"fleet.updateStrategy": {"rollingUpdate": {"maxUnavailable": 1.5}}}, "maxUnavailable", "number", id="half"
        ),
        pytest.param({"labels": {"a": 1}}, "labels/a", "number", id="label"),
        pytest.param({"annotations": {"a": True}}, "annotations/a", "boolean", id="annotation"),
    ],
)
def test_what_is_wrong_is_refused_by_name(helm: Helm, changes: dict[str, Any], where: str, what: str) -> None:
    said = refusal(helm, values(changes))
    assert where in said
    assert what in said


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"fleet.collectors": {"resources": {"cpu": cpu}}}, id=f"cpu-{cpu}")
        for cpu in (2, 0.5, "0.5", "500m")
    ]
    + [
        pytest.param({"fleet.updateStrategy": {"rollingUpdate": {"maxUnavailable": most}}}, id=f"unavailable-{most}")
        for most in (2, "25%", "100%")
    ]
    + [
        pytest.param({"fleet.collection.framesPerBatch": 4e3}, id="whole-float"),
        pytest.param({"fleet.policy.kwargs": {"nothing": None}}, id="null-as-an-argument"),
        pytest.param({"fleet.policy.kwargs": {"anything": {"at": ["all"]}}}, id="free-form"),
        pytest.param(
            {
                "fleet.driver.template": {
                    "spec": {"tolerations": [{"key": "a"}], "volumes": [{"name": "v", "emptyDir": {}}]}
                }
            },
            id="pod-template",
        ),
        pytest.param({"global": {"any": 1}, "enabled": True}, id="of-a-parent-chart"),
    ],
)
def test_what_the_api_server_takes_is_rendered(helm: Helm, changes: dict[str, Any]) -> None:
    assert render(helm, values(changes))["CollectorFleet"]["spec"] == values(changes)["fleet"]
