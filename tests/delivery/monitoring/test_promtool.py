"""Prometheus' own tool on what is delivered: rules, their tests, and what the exporters print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from tests.cluster.binaries import ROOT
from tests.delivery.monitoring.documents import RULES, alerts
from tests.delivery.monitoring.exporters import driver_registry, operator_registry

RULES_TEST = Path(__file__).with_name("rules_test.yaml")


def promtool(folder: Path, words: Sequence[str | Path], input: str = "") -> subprocess.CompletedProcess[str]:  # noqa: A002
    command = [str(folder / "promtool"), *(str(word) for word in words)]
    return subprocess.run(command, input=input, capture_output=True, text=True, check=False, timeout=60)


def test_prometheus_takes_the_rules(prometheus_binaries: Path) -> None:
    done = promtool(prometheus_binaries, ["check", "rules", "--lint=all", "--lint-fatal", RULES])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(alerts())} rules found" in done.stdout


def test_prometheus_takes_the_configuration_of_the_page_on_monitoring(
    prometheus_binaries: Path, tmp_path: Path
) -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    (block,) = (one for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "scrape_configs" in one)
    (tmp_path / "prometheus.yaml").write_text(block)
    (tmp_path / "rules.yaml").write_text(RULES.read_text())
    done = promtool(prometheus_binaries, ["check", "config", tmp_path / "prometheus.yaml"])
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_where_they_should_and_nowhere_else(prometheus_binaries: Path) -> None:
    done = promtool(prometheus_binaries, ["test", "rules", RULES_TEST])
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested_both_ways() -> None:
    asked = [one for test in yaml.safe_load(RULES_TEST.read_text())["tests"] for one in test["alert_rule_test"]]
    fires = {one["alertname"] for one in asked if one.get("exp_alerts")}
    is_quiet = {one["alertname"] for one in asked if not one.get("exp_alerts")}
    assert fires == is_quiet == {rule["alert"] for rule in alerts()}


def test_an_alert_that_does_not_fire_fails_the_test(prometheus_binaries: Path, tmp_path: Path) -> None:
    text = RULES_TEST.read_text().replace(yaml.safe_load(RULES_TEST.read_text())["rule_files"][0], str(RULES))
    broken = tmp_path / "rules_test.yaml"
    broken.write_text(text.replace("lab, fleet: stuck", "lab, fleet: well"))
    assert promtool(prometheus_binaries, ["test", "rules", broken]).returncode != 0


@pytest.mark.parametrize(
    "registry", [pytest.param(operator_registry, id="operator"), pytest.param(driver_registry, id="driver")]
)
def test_prometheus_finds_nothing_wrong_with_names_and_descriptions(
    prometheus_binaries: Path, registry: type[CollectorRegistry]
) -> None:
    done = promtool(prometheus_binaries, ["check", "metrics"], generate_latest(registry()).decode())
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
