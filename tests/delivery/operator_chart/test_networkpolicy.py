"""templates/networkpolicy.yaml"""

from __future__ import annotations

from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import container, of_kind, only, rendered

ON = ("--set", "networkPolicy.enabled=true")


def test_traffic_is_restricted_only_if_that_is_asked_for(helm: Helm) -> None:
    assert of_kind(rendered(helm), "NetworkPolicy") == []
    assert only(rendered(helm, *ON), "NetworkPolicy")["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_it_may_talk_to_the_api_server_only(helm: Helm) -> None:
    spec = only(rendered(helm, *ON), "NetworkPolicy")["spec"]
    assert spec["egress"] == [{"ports": [{"port": 443}, {"port": 6443}]}]
    moved = only(rendered(helm, *ON, "--set", "networkPolicy.apiServerPorts={8443}"), "NetworkPolicy")["spec"]
    assert moved["egress"] == [{"ports": [{"port": 8443}]}]


def test_it_may_be_asked_for_what_its_container_serves(helm: Helm) -> None:
    objects = rendered(helm, *ON)
    (ingress,) = only(objects, "NetworkPolicy")["spec"]["ingress"]
    assert [port["port"] for port in ingress["ports"]] == [port["name"] for port in container(objects)["ports"]]
