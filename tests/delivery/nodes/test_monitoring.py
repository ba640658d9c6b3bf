"""What a Prometheus and a collector of logs find in real pods, at the ports and in the format that the pages name."""

from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families
from tests.cluster.client import Client, Object
from tests.e2e import fleets

OPERATORS = "collectorfleet-system"


def scraped(cluster: Client, pod: Object, port_name: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples that a pod serves on the port of that name, by metric."""
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]
    (port,) = (port["containerPort"] for port in ports if port["name"] == port_name)
    where = pod["metadata"]
    path = f"/api/v1/namespaces/{where['namespace']}/pods/{where['name']}:{port}/proxy/metrics"
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(cluster.kubectl("get", "--raw", path)):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def test_operator_and_driver_are_scraped_in_their_pods_and_the_driver_logs_as_json(
    cluster: Client, namespace: str
) -> None:
    fleet = fleets.fleet(replicas=1)
    env = [{"name": "COLLECTORFLEET_LOG_FORMAT", "value": "json"}]
    fleet["spec"]["driver"]["template"] = {"spec": {"containers": [{"name": "driver", "env": env}]}}
    cluster.apply([fleets.code(), fleet], namespace)
    cluster.wait_for("cfleet/fleet", "Ready", namespace, within=240)

    (operator,) = cluster.items("pods", OPERATORS, "app.kubernetes.io/name=collectorfleet-operator")
    told = scraped(cluster, operator, "health")
    assert ({"fleet_namespace": namespace, "fleet": "fleet"}, 1.0) in told["collectorfleet_operator_fleet_ready"]
    assert len(told["collectorfleet_operator_build_info"]) == 1

    (driver,) = cluster.items("pods", namespace, "collectorfleet.dev/role=driver")
    told = scraped(cluster, driver, "metrics")
    assert told["collectorfleet_driver_incarnation"] == [({"fleet": "fleet"}, 1.0)]
    assert told["collectorfleet_collectors_available"] == [({"fleet": "fleet"}, 1.0)]

    log = cluster.kubectl("logs", "-n", namespace, driver["metadata"]["name"])
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert any("published version" in line["message"] for line in lines)
    assert {(line["namespace"], line["fleet"]) for line in lines} == {(namespace, "fleet")}
