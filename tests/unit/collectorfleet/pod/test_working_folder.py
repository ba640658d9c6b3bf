"""The folder in which the user's code finds itself in a pod."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import pytest

from collectorfleet.pod.working_folder import enter_working_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path)  # and back at the end
    return folder


def test_it_has_the_files_of_the_code_and_takes_new_ones(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "configs").mkdir(parents=True)
    (code / "configs/ppo.yaml").write_text("lr: 1")
    (code / "train.py").write_text("")
    (code / "..data").symlink_to("..2026")  # as the mount of a ConfigMap has it
    enter_working_folder(code)
    assert Path("configs/ppo.yaml").read_text() == "lr: 1"
    Path("results.jpg").write_text("a plot")
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["configs", "results.jpg", "train.py"]
    assert sorted(path.name for path in code.iterdir()) == ["..data", "configs", "train.py"]


def test_code_that_is_in_the_image_has_an_empty_one(tmp_path: Path, temporary: Path) -> None:
    enter_working_folder(tmp_path / "absent")
    assert Path.cwd().parent == temporary
    assert list(Path.cwd().iterdir()) == []


def test_code_that_cannot_be_listed_is_said_and_leaves_an_empty_folder(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    code = tmp_path / "code"
    code.mkdir()

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(Path, "iterdir", refuse)
        enter_working_folder(code)
    assert Path.cwd().parent == temporary
    assert list(Path.cwd().iterdir()) == []
    (said,) = caplog.messages
    assert said == (
        "the files of the code are not in the working folder, because the code cannot be listed: "
        f"[Errno 13] Permission denied: '{code}'"
    )


def test_a_pod_without_room_for_one_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with caplog.at_level(logging.WARNING):
        enter_working_folder(tmp_path)
    assert Path.cwd() == tmp_path
    assert "no folder of the pod can be written to" in caplog.text
