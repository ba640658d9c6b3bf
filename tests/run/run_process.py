"""``collectorfleet run`` as a user starts it: its own process, a manifest in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.cluster.binaries import ROOT
from tests.forks import program

from collectorfleet_api.manifests.yaml_writer import to_yaml

Manifest = dict[str, Any]


def write(folder: Path, *objects: Manifest) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(to_yaml(*objects))
    return path


def train_once(module: str, condition: str) -> str:
    """Return code whose ``train`` waits until ``condition`` holds, and then calls that of ``module``.

    ``condition`` is an expression of ``status``. A busy machine may have one collector long before the other ones and
    the evaluators.
    """
    return f"""
import {module}


def train(collector, run, **kwargs):
    seen = 0
    while not ((status := collector.status()) and {condition}):
        seen = collector.wait_for_change(seen, 1.0)
    {module}.train(collector, run, **kwargs)
"""


def start(file: Path, *options: str, **env: str) -> program.Program:
    """Start a run in a process group of its own, as a terminal does."""
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return program.Program(_words(file, options), **_surroundings(file, env), **said)


def run(file: Path, *options: str, within: float = 180, **env: str) -> subprocess.CompletedProcess[str]:
    """Run to the end; its collectors have ended afterwards."""
    return program.run(_words(file, options), timeout=within, **_surroundings(file, env))


def _words(file: Path, options: tuple[str, ...]) -> list[str]:
    return ["-m", "collectorfleet.cli", "run", str(file), *options]


def _surroundings(file: Path, env: dict[str, str]) -> dict[str, Any]:
    import_path = f"{ROOT}/crds:{ROOT}/collector_image"
    manifest = file / "fleet.yaml" if file.is_dir() else file
    surroundings = {"cwd": file.parent, "env": {**os.environ, "PYTHONPATH": import_path, **env}}
    return surroundings | {"start_new_session": True, "forkserver": "launcher: Job" in manifest.read_text()}
