"""The manifest for Katib is the sweep of the example."""

from __future__ import annotations

import re
from typing import Any

import yaml
from tests.cluster.binaries import ROOT

from collectorfleet_api.manifests.files import load_file
from collectorfleet_api.names import ROLE_LABEL
from collectorfleet_operator.children.pod_template import PodRole

PAGE = (ROOT / "docs/sweeps.md").read_text()
EXAMPLE = ROOT / "examples/cartpole.yaml"


def experiment() -> dict[str, Any]:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def trial(values: dict[str, str]) -> dict[str, Any]:
    """What Katib makes of the template: text in which references are replaced."""
    template = yaml.safe_dump(experiment()["spec"]["trialTemplate"]["trialSpec"])
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{trialParameters\.(\w+)\}", lambda m: values[m[1]], template))
    return found


def test_a_trial_is_a_valid_fleet_with_the_code_of_the_example(tmp_path: Any) -> None:
    fleet = trial({"lr": "0.002", "epochs": "8"})
    fleet["metadata"] = {"name": "trial"}
    code = list(yaml.safe_load_all(EXAMPLE.read_text()))[1]
    file = tmp_path / "trial.yaml"
    file.write_text(yaml.safe_dump_all([fleet, code]))
    loaded = load_file(file)
    assert not loaded.findings
    assert fleet["spec"]["driver"]["train"]["kwargs"] == {"goal": 450, "lr": 0.002, "epochs": 8}


def test_a_trial_is_the_fleet_of_the_example_but_for_its_arguments() -> None:
    own, example = trial({"lr": "1", "epochs": "1"})["spec"], next(yaml.safe_load_all(EXAMPLE.read_text()))["spec"]
    own["driver"]["train"]["kwargs"] = example["driver"]["train"]["kwargs"]
    assert own == example


def test_parameters_are_those_of_the_template_and_of_optuna() -> None:
    spec = experiment()["spec"]
    declared = {one["name"] for one in spec["parameters"]}
    assert declared == {one["reference"] for one in spec["trialTemplate"]["trialParameters"]}
    space = re.findall(r"^SPACE = \{(.*)\}$", (ROOT / "examples/sweep/sweep.py").read_text(), re.M)
    assert declared == set(re.findall(r'"(\w+)":', space[0]))


def test_katib_finds_the_driver_by_its_label() -> None:
    template = experiment()["spec"]["trialTemplate"]
    assert template["primaryPodLabels"] == {ROLE_LABEL: PodRole.DRIVER}
