"""What a run leaves on the machine: nothing, or what somebody has to read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from collectorfleet.local.run_folder import LONGEST_TEMP_DIR, RunFolder
from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunFolder:
    monkeypatch.setattr("collectorfleet.local.run_folder._short_temp_dir", lambda: str(tmp_path))
    made = RunFolder()
    made.log_file.write_text("lines")
    for inner in (made.ray, made.code):
        inner.mkdir()
        (inner / "file").write_text("")
    return made


@pytest.mark.parametrize(
    ("ended", "left"),
    [
        pytest.param(Completed("done"), set(), id="completed"),
        pytest.param(Stopped("stopped: Ctrl-C", 130), set(), id="stopped"),
        pytest.param(UserError("train t:t: ValueError: no", "Traceback ..."), {"run.log"}, id="user"),
        pytest.param(UserError("--checkpoint runs: the folder is not empty"), set(), id="refused option"),
        pytest.param(Broken("ConnectionError: reset"), {"run.log", "ray", "code"}, id="broken"),
    ],
)
def test_only_who_has_to_look_for_a_cause_finds_files(folder: RunFolder, ended: Exit, left: set[str]) -> None:
    folder.clean(ended)
    there = folder.log_file.parent
    assert (set(os.listdir(there)) if there.exists() else set()) == left


def test_rays_sockets_have_short_paths_whatever_the_users_temporary_folder_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/home/somebody/with/a/long/name/tmp")
    folder = RunFolder()
    try:
        assert len(str(folder.ray.parent.parent)) <= LONGEST_TEMP_DIR
    finally:
        folder.clean(Completed("done"))
