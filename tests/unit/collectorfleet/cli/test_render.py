"""``collectorfleet render``: what the operator would apply, without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.combinations.parts import JOB
from tests.manifests import manifest

from collectorfleet.cli.main import main
from collectorfleet_api.manifests.yaml_writer import to_yaml


def test_every_child_of_a_fleet_is_shown_as_yaml_and_belongs_to_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(ROOT / "examples/cartpole.yaml")]) == 0
    children = list(yaml.safe_load_all(capsys.readouterr().out))
    assert {"Job", "RayCluster", "ServiceAccount", "Role", "RoleBinding", "Lease", "ConfigMap"} == {
        one["kind"] for one in children
    }
    assert [one["metadata"]["name"] for one in children if "ownerReferences" in one["metadata"]] == []


def test_a_manifest_that_is_wrong_is_said_and_not_rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text((ROOT / "examples/cartpole.yaml").read_text().replace("replicas: 2", "replicaz: 2"))
    assert main(["render", str(file)]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert "replicaz" in said.err


def test_a_file_without_a_fleet_is_not_rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "code.yaml"
    file.write_text(to_yaml({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}}))
    assert main(["render", str(file)]) == 64
    assert capsys.readouterr().err == f"error: {file}: the file has no CollectorFleet, only ConfigMap code\n"


def test_a_fleet_without_ray_is_two_jobs_and_a_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(to_yaml(manifest(JOB)))
    assert main(["render", str(file)]) == 0
    children = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one["metadata"]["name"] for one in children if one["kind"] == "Job"] == [
        "cheetah-driver",
        "cheetah-collectors",
    ]
    assert {"Service"} == {one["kind"] for one in children} - {
        *("Job", "ServiceAccount", "Role", "RoleBinding", "Lease", "ConfigMap")
    }
