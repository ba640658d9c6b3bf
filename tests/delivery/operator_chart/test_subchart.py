"""The operator as a part of somebody's own chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.delivery.helm import Helm, HelmError
from tests.delivery.operator_chart.rendering import CHART, Object, container, of_kind, only


@pytest.fixture
def parent(tmp_path: Path, helm: Helm) -> Path:
    """A chart that has this one as a dependency, on a condition."""
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    dependency = {
        "name": about["name"],
        "version": about["version"],
        "repository": f"file://{CHART}",
        "condition": f"{about['name']}.enabled",
    }
    chart = {"apiVersion": "v2", "name": "platform", "version": "1.0.0", "dependencies": [dependency]}
    folder = tmp_path / "platform"
    folder.mkdir()
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    helm("dependency", "update", folder)
    return folder


def rendered(helm: Helm, parent: Path, tmp_path: Path, **values: Any) -> list[Object]:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    return helm.template(parent, "--values", path, name="platform")


def test_it_takes_the_values_that_are_handed_down(helm: Helm, parent: Path, tmp_path: Path) -> None:
    handed_down = yaml.safe_load((CHART / "ci/subchart-values.yaml").read_text())
    objects = rendered(
        helm,
        parent,
        tmp_path,
        **{"global": handed_down["global"], "collectorfleet-operator": {"enabled": True, "image": {"tag": "9"}}},
    )
    assert container(objects)["image"].endswith(":9")
    assert only(objects, "Deployment")["metadata"]["name"] == "platform-collectorfleet-operator"
    assert of_kind(objects, "CustomResourceDefinition")


def test_it_is_left_out_when_its_condition_is_false(helm: Helm, parent: Path, tmp_path: Path) -> None:
    assert rendered(helm, parent, tmp_path, **{"collectorfleet-operator": {"enabled": False}}) == []


def test_an_unknown_key_is_refused_by_name_there_too(helm: Helm, parent: Path, tmp_path: Path) -> None:
    with pytest.raises(HelmError, match="misspelt"):
        rendered(helm, parent, tmp_path, **{"collectorfleet-operator": {"misspelt": 1}})
