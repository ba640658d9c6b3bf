"""What the chart says of itself, to Helm and to Artifact Hub."""

from __future__ import annotations

import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.delivery.helm import Helm
from tests.delivery.operator_chart.rendering import CHART, CI_VALUES, container, rendered

from collectorfleet_api import names
from collectorfleet_api.rules.validation import problems
from collectorfleet_api.v1alpha1 import CollectorFleet

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
ABOUT = yaml.safe_load((CHART / "Chart.yaml").read_text())


def annotation(name: str) -> Any:
    return yaml.safe_load(ABOUT["annotations"][f"artifacthub.io/{name}"])


def test_chart_and_operator_have_the_projects_version() -> None:
    assert (ABOUT["version"], ABOUT["appVersion"]) == (VERSION, VERSION)


def test_artifact_hub_is_told_the_image_that_is_installed(helm: Helm) -> None:
    assert [one["image"] for one in annotation("images")] == [container(rendered(helm))["image"]]


def test_artifact_hub_is_told_the_crd_that_is_installed() -> None:
    (told,) = annotation("crds")
    assert (told["name"], told["kind"], told["version"]) == (f"{names.PLURAL}.{names.GROUP}", names.KIND, names.VERSION)


def test_the_example_for_artifact_hub_is_a_fleet_without_problems() -> None:
    (example,) = annotation("crdsExamples")
    assert list(problems(CollectorFleet.parse(example))) == []


@pytest.mark.parametrize("values", CI_VALUES, ids=lambda path: path.stem)
def test_helm_finds_nothing_to_complain_about(helm: Helm, values: Path) -> None:
    helm("lint", "--strict", CHART, "--values", values)


def test_there_are_values_to_lint() -> None:
    names_ = {path.name.removesuffix("-values.yaml") for path in CI_VALUES}
    assert names_ == {"cluster-wide", "default", "everything", "namespaced", "subchart"}


def test_the_package_has_what_an_installation_needs_and_nothing_else(helm: Helm, tmp_path: Path) -> None:
    helm("package", CHART, "--destination", tmp_path)
    with tarfile.open(tmp_path / f"collectorfleet-operator-{VERSION}.tgz") as package:
        files = {name.removeprefix("collectorfleet-operator/") for name in package.getnames()}
    assert {"Chart.yaml", "README.md", "values.schema.json", "files/collectorfleets.yaml"} <= files
    assert not {name for name in files if name.startswith("ci/") or name.endswith(".gotmpl")}
