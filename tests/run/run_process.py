"""``collectorfleet run`` as a user starts it: its own process, a manifest in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cluster.binaries import ROOT

from collectorfleet_api.manifests.yaml_writer import to_yaml

Manifest = dict[str, Any]


def write(folder: Path, *objects: Manifest) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(to_yaml(*objects))
    return path


def start(file: Path, *options: str, **env: str) -> subprocess.Popen[str]:
    """Start a run in a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-m", "collectorfleet.cli", "run", str(file), *options],
        cwd=file.parent,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(file: Path, *options: str, within: float = 180, **env: str) -> subprocess.CompletedProcess[str]:
    """Run to the end; its collectors are gone afterwards."""
    process = start(file, *options, **env)
    try:
        out, err = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the run did not end within {within:g} s:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
