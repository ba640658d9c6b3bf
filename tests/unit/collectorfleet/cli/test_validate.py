"""``collectorfleet validate``: everything that is wrong with manifests, offline."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.manifests import manifest
from tests.unit.collectorfleet.cli.files import written

from collectorfleet.cli.main import main


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


def test_one_wrong_file_of_several_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = written(tmp_path, manifest())
    assert main(["validate", str(tmp_path / "no.yaml"), right]) == 1
    assert capsys.readouterr().out == f"{right}: fleet cheetah is valid\n"
