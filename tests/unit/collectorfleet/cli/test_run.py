"""``collectorfleet run`` where it ends before there is a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.manifests import manifest
from tests.unit.collectorfleet.cli.files import written

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main


def test_a_wrong_manifest_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, manifest({"spec.driver.train": None, "spec.collectors.replicas": 0}))
    assert main(["run", file]) == 64
    assert "spec.collectors.replicas" in capsys.readouterr().err


def test_which_of_several_fleets_to_run_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, manifest(name="a"), manifest(name="b"))
    assert main(["run", file]) == 64
    assert "the file has 2 fleets; choose one with --fleet: a, b" in capsys.readouterr().err
    assert main(["run", file, "--fleet", "c"]) == 64
    assert "the file has no fleet c; it has a, b" in capsys.readouterr().err


def test_a_file_without_a_fleet_says_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}}
    assert main(["run", written(tmp_path, code)]) == 64
    assert capsys.readouterr().err.endswith(": the file has no CollectorFleet, only ConfigMap code\n")


def test_going_on_needs_a_folder_to_go_on_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", written(tmp_path, manifest()), "--resume"])
    assert ended.value.code == ExitCode.USAGE
    assert "--resume needs --checkpoint DIR; give the folder of the run to resume" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_a_port_is_a_number_that_can_be_listened_on(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "fleet.yaml", f"--metrics-port={port}"])
    assert f"{port!r} is not a port; write a number from 1 to 65535" in capsys.readouterr().err


def test_a_name_that_is_too_long_is_a_wrong_name(capsys: pytest.CaptureFixture[str]) -> None:
    long = "a" * 300
    assert main(["run", long]) == ExitCode.USER
    assert capsys.readouterr().err == f"error: {long}: File name too long\n"
