"""A real Prometheus scrapes a real operator and a real run; then every panel of the dashboard has something to show."""

from __future__ import annotations

import json
import os
import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from tests.cluster.binaries import ROOT
from tests.cluster.control_plane import ControlPlane
from tests.cluster.process import Command, Component
from tests.delivery.monitoring.documents import RULES, alerts, panel_queries, panels, variable_queries
from tests.integration import played
from tests.integration.operator_metrics import metrics_url
from tests.integration.operator_process import operator
from tests.ports import reserve_ports
from tests.run.run_process import start, write
from tests.wait import eventually

# A run on one machine is not started again by anybody, and does not count its starts.
ONLY_IN_PODS = {"Starts of the driver A"}


class Prometheus(Component):
    """Scrapes each of ``targets``, which are URLs with the labels of a PodMonitor, once a second."""

    def __init__(self, binaries: Path, folder: Path, targets: dict[str, dict[str, str]]) -> None:
        (port,) = reserve_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [
                {
                    "job_name": labels["pod"],
                    "static_configs": [{"targets": [urllib.parse.urlsplit(url).netloc], "labels": labels}],
                }
                for url, labels in targets.items()
            ],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        words = (
            binaries / "prometheus",
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        )
        super().__init__(Command("prometheus", words, f"{self._url}/-/ready"), folder / "prometheus.log")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an expression now."""
        found: list[dict[str, Any]] = self._ask("query", query=expression)["result"]
        return found

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def _ask(self, path: str, **parameters: str) -> Any:
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]


@contextmanager
def training(folder: Path, metrics_port: int) -> Iterator[None]:
    """The example trains on this machine, without an end, keeps checkpoints and evaluates every version that it can."""
    fleet, code = yaml.safe_load_all((ROOT / "examples/cartpole.yaml").read_text())
    fleet["spec"]["driver"]["train"]["kwargs"] = {"goal": 10**6}
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": "kept", "everySeconds": 1}
    fleet["spec"]["collection"]["totalFrames"] = 10**9
    fleet["spec"]["evaluation"] = {"everyVersions": 1, "episodes": 2, "keepBest": True}
    options = ("--metrics-port", str(metrics_port), "--checkpoint", str(folder / "checkpoints"))
    run = start(write(folder, fleet, code), *options)
    try:
        yield
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=60)


def test_every_panel_shows_something_of_a_fleet_that_trains_and_of_its_operator(
    control_plane: ControlPlane, fleet_crd: None, prometheus_binaries: Path, namespace: str, tmp_path: Path
) -> None:
    (metrics_port,) = reserve_ports(1)
    folder = tmp_path / "operator"
    folder.mkdir()
    with operator(control_plane, folder, "--log-format=json") as process, training(tmp_path, metrics_port):
        prometheus = Prometheus(
            prometheus_binaries,
            tmp_path,
            {
                metrics_url(process): {"namespace": "collectorfleet-system", "pod": "operator-1"},
                f"http://127.0.0.1:{metrics_port}/metrics": {"namespace": "lab", "pod": "cartpole-driver-1"},
            },
        )
        prometheus.launch()
        try:
            prometheus.wait_ready(30)
            played.start(control_plane, namespace)
            queries = [one for one in [*panel_queries(), *variable_queries()] if one.where not in ONLY_IN_PODS]
            assert len(queries) >= len(panels())
            eventually(
                lambda: [query.where for query in queries if not prometheus.query(query.expression)],
                until=lambda empty: not empty,
                within=120,
                every=1,
                what="panels without data",
                tolerate=(OSError,),
            )
            labels = [prometheus.query(query.expression)[0]["metric"].keys() for query in queries]
            lacking = [query.where for query, there in zip(queries, labels, strict=True) if not query.shown <= there]
            assert lacking == []
            rules = prometheus.rules()
            assert {rule["name"]: rule["health"] for rule in rules} == {rule["alert"]: "ok" for rule in alerts()}
            assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []
        finally:
            prometheus.stop()
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)
    about = [line for line in lines if (line.get("namespace"), line.get("fleet")) == (namespace, "fleet")]
    assert any("created RayCluster" in line["message"] for line in about)
