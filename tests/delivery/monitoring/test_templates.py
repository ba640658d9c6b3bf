"""templates/monitoring/*.yaml: what the chart gives to a Prometheus operator and to Grafana, if asked to."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.delivery.helm import Helm, HelmError
from tests.delivery.monitoring.documents import DASHBOARD, RULES
from tests.delivery.operator_chart.rendering import FULL_NAME, container, of_kind, only, pod, rendered

from collectorfleet_api import names

PODS = ("--set", "monitoring.podMonitor.enabled=true")
RULE = ("--set", "monitoring.prometheusRule.enabled=true")
GRAFANA = ("--set", "monitoring.grafanaDashboard.create=true")
KINDS = {"PodMonitor", "PrometheusRule", "ConfigMap"}


def test_nothing_of_it_is_there_unless_it_is_asked_for(helm: Helm) -> None:
    assert KINDS & {one["kind"] for one in rendered(helm)} == set()
    for words, kind in ((PODS, "PodMonitor"), (RULE, "PrometheusRule"), (GRAFANA, "ConfigMap")):
        assert {one["kind"] for one in rendered(helm, *words)} & KINDS == {kind}


def test_the_operator_is_scraped_where_its_pod_serves_metrics(helm: Helm) -> None:
    objects = rendered(helm, *PODS)
    monitor, _ = sorted(of_kind(objects, "PodMonitor"), key=lambda one: str(one["metadata"]["name"]))
    selector = monitor["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod(objects)["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in [port["name"] for port in container(objects)["ports"]]
    # Its own namespace, which is what a PodMonitor looks at by default.
    assert "namespaceSelector" not in monitor["spec"]


def test_drivers_are_scraped_in_every_namespace_whose_fleets_are_served(helm: Helm) -> None:
    def drivers(*words: str) -> dict[str, object]:
        objects = of_kind(rendered(helm, *PODS, *words), "PodMonitor")
        (found,) = (one for one in objects if one["metadata"]["name"] == f"{FULL_NAME}-drivers")
        return dict(found["spec"])

    everywhere = drivers()
    assert everywhere["selector"] == {"matchLabels": {names.ROLE_LABEL: "driver"}}
    assert everywhere["podMetricsEndpoints"] == [{"port": names.METRICS_PORT_NAME, "interval": "30s"}]
    assert everywhere["namespaceSelector"] == {"any": True}
    assert drivers("--set", "watchNamespaces={a,b}")["namespaceSelector"] == {"matchNames": ["a", "b"]}


def test_interval_and_labels_are_those_that_are_given(helm: Helm) -> None:
    words = ("--set", "monitoring.podMonitor.interval=5s", "--set", "monitoring.podMonitor.labels.release=prometheus")
    monitors = of_kind(rendered(helm, *PODS, *words), "PodMonitor")
    assert len(monitors) == 2
    for monitor in monitors:
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
        assert monitor["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert monitor["spec"]["podMetricsEndpoints"][0]["interval"] == "5s"


def test_the_rules_are_those_of_the_file(helm: Helm) -> None:
    rule = only(rendered(helm, *RULE, "--set", "monitoring.prometheusRule.labels.release=prometheus"), "PrometheusRule")
    assert rule["spec"] == yaml.safe_load(RULES.read_text())
    assert rule["metadata"]["labels"]["release"] == "prometheus"


def test_the_dashboard_is_that_of_the_file_where_grafanas_sidecar_looks_for_it(helm: Helm) -> None:
    found = only(rendered(helm, *GRAFANA), "ConfigMap")
    assert json.loads(found["data"]["collectorfleet.json"]) == json.loads(DASHBOARD.read_text())
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["namespace"] == "here"
    grafana = {"create": True, "namespace": "grafana", "sidecarLabel": "board", "sidecarLabelValue": "fleets"}
    moved = only(rendered(helm, **{"monitoring.grafanaDashboard": grafana}), "ConfigMap")
    assert moved["metadata"]["namespace"] == "grafana"
    assert moved["metadata"]["labels"]["board"] == "fleets"


def test_an_interval_that_prometheus_does_not_know_is_refused_by_name(helm: Helm) -> None:
    with pytest.raises(HelmError, match="interval"):
        rendered(helm, *PODS, "--set", "monitoring.podMonitor.interval=often")
