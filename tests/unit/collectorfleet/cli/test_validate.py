"""The command line where it needs no fleet: help and validation, at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import manifest

from collectorfleet.cli.main import main


def written(folder: Path, *objects: dict[str, object]) -> str:
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def test_a_valid_fleet_is_called_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, manifest())
    assert main(["validate", file]) == 0
    assert capsys.readouterr().out == f"{file}: fleet cheetah is valid\n"


def test_every_problem_is_said_with_its_line_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, manifest({"spec.collectors.replicaz": 3, "spec.collection.framesPerBatch": 0}))
    assert main(["validate", file]) == 1
    out = capsys.readouterr().out
    assert "error: spec.collectors.replicaz: unknown field" in out
    assert "error: spec.collection.framesPerBatch" in out
    assert out.startswith(f"{file}:")


def test_a_warning_is_printed_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bound = {"spec.collection.mode": "Async", "spec.collection.maxStaleness": 1, "spec.collectors.replicas": 16}
    assert main(["validate", written(tmp_path, manifest(bound))]) == 0
    assert "warning:" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path / "no.yaml")]) == 1
    assert "no.yaml: No such file or directory" in capsys.readouterr().err


def test_a_wrong_manifest_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, manifest({"spec.driver.train": None, "spec.collectors.replicas": 0}))
    assert main(["run", file]) == 64
    assert "spec.collectors.replicas" in capsys.readouterr().err


def test_which_of_several_fleets_to_run_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, manifest(name="a"), manifest(name="b"))
    assert main(["run", file]) == 64
    assert "2 fleets in it; choose one with --fleet: a, b" in capsys.readouterr().err
    assert main(["run", file, "--fleet", "c"]) == 64
    assert "no fleet c in it; it has a, b" in capsys.readouterr().err


def test_a_driver_outside_of_its_pod_says_what_to_use_instead() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "collectorfleet.cli", "drive"],
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "COLLECTORFLEET_NAME" in done.stderr
    assert "`collectorfleet run FILE` runs a fleet on this machine" in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["validate", "examples/cartpole.yaml"]], ids=" ".join)
def test_help_and_validation_import_neither_torch_nor_ray(words: list[str]) -> None:
    code = (
        "import sys; from collectorfleet.cli.main import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'ray', 'kubernetes', 'rich'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
