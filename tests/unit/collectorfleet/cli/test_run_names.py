"""Which words are the folder of a run, and which are the name of a fleet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from collectorfleet.cli.run_names import is_folder


def checkpoint(folder: Path) -> None:
    (folder / "checkpoint-000001").mkdir()
    (folder / "checkpoint-000001/checkpoint.json").touch()


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        pytest.param(lambda folder: (folder / "timeline.json").touch(), True, id="a timeline"),
        pytest.param(checkpoint, True, id="a checkpoint"),
        pytest.param(lambda folder: (folder / "checkpoint-100").mkdir(), False, id="a checkpoint of other software"),
        pytest.param(lambda folder: (folder / "fleet.yaml").touch(), False, id="a project"),
        pytest.param(lambda folder: (folder / "fleet.json").touch(), False, id="a project with a manifest in JSON"),
        pytest.param(lambda folder: None, False, id="an empty folder"),
        pytest.param(Path.rmdir, False, id="no folder"),
        pytest.param(lambda folder: (folder.rmdir(), folder.touch()), False, id="a file"),
    ],
)
def test_a_word_is_a_folder_if_the_folder_has_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fill: Callable[[Path], object], expected: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cheetah").mkdir()
    fill(Path("cheetah"))
    assert is_folder("cheetah") is expected
    assert is_folder("./cheetah")
    assert is_folder("cheetah/")


def test_the_current_folder_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_folder(".")
    assert is_folder("..")


def test_a_name_that_is_too_long_is_no_folder() -> None:
    assert not is_folder("a" * 300)
