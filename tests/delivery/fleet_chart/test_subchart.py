"""The chart as a subchart: a chart of somebody else that has two fleets, one of them switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.delivery.fleet_chart.chart import CHART, TRAIN, spec, values_file
from tests.delivery.helm import Helm, HelmError

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]


@pytest.fixture
def parent(helm: Helm, tmp_path: Path) -> Path:
    """A chart that has the fleet's chart twice."""
    fleets = [
        {
            "name": "collectorfleet",
            "alias": alias,
            "version": VERSION,
            "repository": f"file://{CHART}",
            "condition": f"{alias}.enabled",
        }
        for alias in ("left", "right")
    ]
    chart = {"apiVersion": "v2", "name": "robots", "version": "1.0.0", "dependencies": fleets}
    (tmp_path / "Chart.yaml").write_text(yaml.safe_dump(chart))
    helm("dependency", "update", tmp_path)
    return tmp_path


def fleets(helm: Helm, parent: Path, values: dict[str, Any]) -> dict[str, Any]:
    rendered = helm.template(parent, "-f", values_file(helm, values), name="robots")
    return {obj["metadata"]["name"]: obj for obj in rendered if obj["kind"] == "CollectorFleet"}


def test_each_has_its_values_and_its_name_beside_global_ones(helm: Helm, parent: Path) -> None:
    values = {
        "global": {"site": "lab"},
        "left": {"fleet": spec(), "fullnameOverride": "left-run", "code": {"train.py": TRAIN}},
        "right": {"fleet": spec(image="other:1"), "enabled": True},
    }
    found = fleets(helm, parent, values)
    assert found.keys() == {"left-run", "robots"}
    assert found["left-run"]["spec"]["code"]["configMap"].startswith("left-run-code-")
    assert found["robots"]["spec"] == spec(image="other:1")


def test_one_that_is_switched_off_needs_no_spec(helm: Helm, parent: Path) -> None:
    assert fleets(helm, parent, {"left": {"fleet": spec()}, "right": {"enabled": False}}).keys() == {"robots"}


def test_a_misspelt_field_is_refused_there_too(helm: Helm, parent: Path) -> None:
    values = {"left": {"fleet": spec(colection={})}, "right": {"enabled": False}}
    with pytest.raises(HelmError, match="colection"):
        fleets(helm, parent, values)
