"""What names no file at all, as the "" that a shell passes for a variable without a value."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cluster.binaries import ROOT
from tests.manifests import manifest
from tests.unit.collectorfleet.cli.files import written

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main

TOKEN = ["--driver", "a:1", "--rank", "0", "--token-file"]
WITHOUT_A_NAME = {
    "validate": ["validate", ""],
    "one of several": ["validate", "fleet.yaml", ""],
    "render": ["render", ""],
    "run": ["run", ""],
    "checkpoints": ["run", "fleet.yaml", "--checkpoint", ""],
    "report of a run": ["run", "fleet.yaml", "--report", ""],
    "folder": ["submit", ""],
    "manifest": ["submit", ".", "-f", ""],
    "report": ["report", ""],
    "output of a report": ["report", ".", "-o", ""],
    "export": ["export", "", "-o", "policy.pt"],
    "token": ["collect", *TOKEN, ""],
    "address": ["collect", "--driver-file", "", "--rank", "0", "--token-file", "token"],
}


@pytest.mark.parametrize("what", WITHOUT_A_NAME)
def test_an_empty_name_is_not_the_current_folder(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, manifest())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(WITHOUT_A_NAME[what])
    assert ended.value.code == ExitCode.USAGE
    assert capsys.readouterr().err.endswith(": the name is empty; write a name\n")


LONG = "a" * 300


@pytest.mark.parametrize(
    "words",
    [
        *(["validate", LONG], ["render", LONG], ["submit", LONG], ["submit", ".", "-f", LONG]),
        *(["report", f"./{LONG}"], ["report", ".", "-o", LONG]),
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG"),
)
def test_a_name_that_is_too_long_is_a_wrong_name(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, manifest())
    shutil.copy(ROOT / "tests/data/timeline.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(words) == ExitCode.USER
    assert LONG in capsys.readouterr().err
