"""Folders that are packed, each once in a git repository and once in none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.collectorfleet.client.folders import git


@pytest.fixture(autouse=True)
def nobody_s_git_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture(params=["no repository", "repository"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    if request.param == "repository":
        git(path, "init", "--quiet")
    return path
