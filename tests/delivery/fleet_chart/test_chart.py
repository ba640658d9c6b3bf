"""Chart.yaml, values.yaml, README.md and the values in ci/: the chart as a package."""

from __future__ import annotations

import re
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from examples import values as values_of_examples
from tests.cluster.binaries import ROOT
from tests.delivery.fleet_chart.chart import CHART, CI, by_kind
from tests.delivery.helm import Helm

from collectorfleet_api.manifests.files import load_manifests
from collectorfleet_api.schema.chart_values import values_schema

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def chart_yaml() -> dict[str, Any]:
    return dict(yaml.safe_load((CHART / "Chart.yaml").read_text()))


def test_the_chart_has_the_version_of_the_project() -> None:
    chart = chart_yaml()
    assert (chart["version"], str(chart["appVersion"])) == (PROJECT["version"], PROJECT["version"])


def test_an_older_kubernetes_than_the_readme_names_is_refused(helm: Helm) -> None:
    named = re.search(r"Kubernetes (1\.\d+) or newer", (ROOT / "README.md").read_text())
    assert named
    assert chart_yaml()["kubeVersion"] == f">={named[1]}.0-0"
    older = helm.run(["template", "my-run", CHART, "-f", CI[0], "--kube-version", "1.29.9"])
    assert older.returncode
    assert "kubeVersion: >=1.30.0-0" in older.stderr


def test_there_are_values_of_each_example_and_of_everything() -> None:
    assert set(CI) == {CHART / "ci/all-values.yaml", *values_of_examples.pages()}


@pytest.mark.parametrize("values", CI, ids=lambda path: path.stem)
def test_lint_has_nothing_to_say(helm: Helm, values: Path) -> None:
    said = helm("lint", "--strict", CHART, "-f", values)
    assert "0 chart(s) failed" in said
    assert "[WARNING]" not in said


@pytest.mark.parametrize("values", CI, ids=lambda path: path.stem)
def test_what_is_rendered_is_a_manifest_that_validate_takes(helm: Helm, values: Path) -> None:
    rendered = load_manifests(helm("template", "my-run", CHART, "-f", values))
    assert not rendered.errors
    [fleet] = rendered.fleets
    # With its code beside it: the same file runs on a laptop.
    assert fleet.spec.code is None or rendered.config_map(fleet.spec.code.config_map)


def test_the_values_of_everything_give_every_value() -> None:
    given = yaml.safe_load((CHART / "ci" / "all-values.yaml").read_text())
    example = yaml.safe_load((CHART / "ci" / "cartpole-values.yaml").read_text())
    of_parents = {"global", "enabled"}
    assert given.keys() | example.keys() == values_schema()["properties"].keys() - of_parents


def test_every_value_is_in_values_yaml_and_in_the_readme() -> None:
    names = values_schema()["properties"].keys() - {"global", "enabled"}
    text = (CHART / "values.yaml").read_text()
    assert yaml.safe_load(text).keys() == names
    readme = (CHART / "README.md").read_text()
    for name in names:
        assert re.search(rf"^# -- .+\n(# .+\n)*{name}:", text, re.MULTILINE), f"values.yaml does not say what {name} is"
        assert f"| `{name}` |" in readme


def test_the_package_holds_what_an_installation_needs_and_no_more(helm: Helm, tmp_path: Path) -> None:
    helm("package", CHART, "--destination", tmp_path)
    [package] = tmp_path.iterdir()
    assert package.name == f"collectorfleet-{PROJECT['version']}.tgz"
    with tarfile.open(package) as archive:
        held = {name.removeprefix("collectorfleet/") for name in archive.getnames()}
    assert held == {
        *("Chart.yaml", "README.md", "values.yaml", "values.schema.json", ".helmignore"),
        *(f"templates/{name}" for name in ("NOTES.txt", "_helpers.tpl", "code.yaml", "fleet.yaml")),
    }
    rendered = by_kind(helm("template", "my-run", package, "-f", CI[-1]))
    assert rendered.keys() == {"CollectorFleet", "ConfigMap"}
