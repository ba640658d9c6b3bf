"""Who reaches whom by the NetworkPolicy of a fleet, as Kubernetes reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.children.fleets import cluster, driver, fleet, head, worker

from collectorfleet_operator.children.network_policy import network_policy
from collectorfleet_operator.objects import Object

GCS, DASHBOARD, METRICS, API_SERVER, DNS = 6379, 8265, 8080, 443, 53
MONITORING = {"kubernetes.io/metadata.name": "monitoring"}
PROMETHEUS = {"namespaceSelector": {"matchLabels": MONITORING}}


@dataclass(frozen=True)
class Pod:
    labels: dict[str, str]
    namespace: str = "lab"
    namespace_labels: dict[str, str] = field(default_factory=dict)


def of_fleet(namespace: str = "lab") -> dict[str, Pod]:
    made = cluster()
    templates = {"head": head(made), "worker": worker(made), "driver": driver()}
    return {role: Pod(template["metadata"]["labels"], namespace) for role, template in templates.items()}


STRANGER = Pod({"app": "notebook"})
OTHERS = {
    "of no fleet": STRANGER,
    "of another fleet": Pod({"collectorfleet.dev/fleet": "hopper"}),
    "of a fleet of this name elsewhere": of_fleet("elsewhere")["worker"],
    "Prometheus": Pod({"app": "prometheus"}, "monitoring", MONITORING),
}
SCRAPER = OTHERS["Prometheus"]


def policy(asked: dict[str, Any]) -> Object:
    found = network_policy(fleet({"spec.networkPolicy": asked}))
    assert found is not None
    return found


def reaches(found: Object, one: Pod, other: Pod, port: int, protocol: str = "TCP") -> bool:
    """Whether ``one`` may connect to that port of ``other``; of a policy without a direction everybody may."""
    home, spec = found["metadata"]["namespace"], found["spec"]
    into = _lets("Ingress", spec, home, other, one, port, protocol)
    return into and _lets("Egress", spec, home, one, other, port, protocol)


def _lets(direction: str, spec: Object, home: str, pod: Pod, peer: Pod, port: int, protocol: str) -> bool:
    selected = pod.namespace == home and _selects(spec["podSelector"], pod.labels)
    if not selected or direction not in spec["policyTypes"]:
        return True
    peers = "from" if direction == "Ingress" else "to"
    return any(
        (not rule.get(peers) or any(_is(one, peer, home) for one in rule[peers]))
        and (not rule.get("ports") or {"protocol": protocol, "port": port} in rule["ports"])
        for rule in spec[direction.lower()]
    )


def _is(asked: Object, peer: Pod, home: str) -> bool:
    elsewhere = asked.get("namespaceSelector")
    at_home = peer.namespace == home if elsewhere is None else _selects(elsewhere, peer.namespace_labels)
    return at_home and _selects(asked.get("podSelector", {}), peer.labels)


def _selects(selector: Object, labels: dict[str, str]) -> bool:
    return selector.get("matchLabels", {}).items() <= labels.items()


def test_a_fleet_that_asks_for_none_has_none() -> None:
    assert network_policy(fleet()) is None


def test_the_pods_of_a_fleet_reach_each_other_at_any_port() -> None:
    found = policy({"egress": []})
    for one in of_fleet().values():
        for other in of_fleet().values():
            for port in (GCS, DASHBOARD, METRICS, 31_337):
                assert reaches(found, one, other, port)


@pytest.mark.parametrize("other", OTHERS)
def test_nobody_else_reaches_them(other: str) -> None:
    found = policy({})
    for pod in of_fleet().values():
        for port in (GCS, DASHBOARD, METRICS, 31_337):
            assert not reaches(found, OTHERS[other], pod, port)


def test_whoever_is_named_reaches_the_metrics_and_no_other_port() -> None:
    found = policy({"metricsFrom": [PROMETHEUS]})
    for pod in of_fleet().values():
        assert reaches(found, SCRAPER, pod, METRICS)
        assert not reaches(found, SCRAPER, pod, GCS)
        assert not reaches(found, STRANGER, pod, METRICS)


def test_further_rules_let_in_whom_they_name() -> None:
    notebook = {"from": [{"podSelector": {"matchLabels": {"app": "notebook"}}}]}
    found = policy({"ingress": [{**notebook, "ports": [{"protocol": "TCP", "port": DASHBOARD}]}]})
    assert reaches(found, STRANGER, of_fleet()["head"], DASHBOARD)
    assert not reaches(found, STRANGER, of_fleet()["head"], GCS)


def test_pods_reach_everybody_where_nothing_is_said_of_that() -> None:
    for pod in of_fleet().values():
        assert reaches(policy({}), pod, SCRAPER, API_SERVER)


def test_with_egress_they_reach_each_other_names_and_what_is_listed() -> None:
    closed = policy({"egress": []})
    opened = policy({"egress": [{"ports": [{"protocol": "TCP", "port": API_SERVER}]}]})
    for pod in of_fleet().values():
        for protocol in ("UDP", "TCP"):
            assert reaches(closed, pod, STRANGER, DNS, protocol)
        assert not reaches(closed, pod, STRANGER, API_SERVER)
        assert reaches(opened, pod, STRANGER, API_SERVER)


def test_a_rule_with_less_in_it_is_another_policy() -> None:
    # An object that lacks something is covered by one that has it, and would not be applied.
    asked = [{"metricsFrom": [PROMETHEUS]}, {"metricsFrom": [{"namespaceSelector": {}}]}, {"ingress": [{}]}, {}]
    assert len({str(policy(one)["metadata"]["annotations"]) for one in asked}) == len(asked)
