"""Pod templates merge as kubectl does it."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet_operator.children.merge import merge
from collectorfleet_operator.objects import Object


@pytest.mark.parametrize(
    ("base", "over", "merged"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="objects merge"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}, id="null removes"),
        pytest.param({}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="null of nothing"),
        pytest.param({"args": ["x"]}, {"args": ["y"]}, {"args": ["y"]}, id="plain lists are replaced"),
        pytest.param(
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "A", "valueFrom": {"x": 1}}]},
            {"env": [{"name": "A", "valueFrom": {"x": 1}}]},
            id="an env entry is taken whole",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}]},
            {"volumeMounts": [{"name": "v", "mountPath": "/b"}]},
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]},
            id="a volume may be mounted twice",
        ),
        pytest.param(
            {"ports": [{"containerPort": 53, "name": "dns"}]},
            {"ports": [{"containerPort": 53, "name": "dns-udp", "protocol": "UDP"}]},
            {
                "ports": [
                    {"containerPort": 53, "name": "dns"},
                    {"containerPort": 53, "name": "dns-udp", "protocol": "UDP"},
                ]
            },
            id="a port of two protocols is two",
        ),
        pytest.param(
            {"ports": [{"containerPort": 53, "name": "dns"}]},
            {"ports": [{"containerPort": 53, "name": "names", "protocol": "TCP"}]},
            {"ports": [{"containerPort": 53, "name": "names", "protocol": "TCP"}]},
            id="a port without a protocol is of TCP",
        ),
    ],
)
def test_merges_as_kubectl_does(base: Object, over: Object, merged: Object) -> None:
    assert merge(base, over) == merged


@pytest.mark.parametrize("odd", [[{"value": "1"}], ["x"], [{"name": ["x"]}], [{"name": "B"}, {"value": "1"}]], ids=str)
def test_a_list_with_an_item_that_has_no_name_is_left_to_the_api_server(odd: list[Any]) -> None:
    assert merge({"env": [{"name": "A", "value": "2"}]}, {"env": odd}) == {"env": odd}
