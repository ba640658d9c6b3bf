"""What `collectorfleet init` writes trains as it is, but for the number of frames, and passes its own test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.manifests import changed
from tests.run.run_process import run, write

from collectorfleet.cli.init import project
from collectorfleet_api.manifests.files import load_file

# Two batches, and a goal that no training reaches in them.
SMALL = {
    "ppo": {"spec.collection.totalFrames": 4096, "spec.driver.train.kwargs": {"goal": 1000}},
    "sac": {
        "spec.collection.totalFrames": 600,
        "spec.collection.initRandomFrames": 200,
        "spec.driver.train.kwargs": {"goal": 0, "first_frames": 400},
    },
    "gather": {"spec.collection.totalFrames": 4096},
    "script": {"spec.driver.args": ["--total-frames=4096"]},
}


VARIANT = pytest.mark.variant_of("tests/run/test_init.py::test_a_new_project_trains")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[VARIANT] if kind != "ppo" else []) for kind in SMALL])
def test_a_new_project_trains(kind: str, tmp_path: Path) -> None:
    for name, text in project(kind, "mine").items():
        (tmp_path / name).write_text(text)
    (fleet,) = load_file(tmp_path / "fleet.yaml").fleets
    write(tmp_path, changed(fleet.to_wire(), SMALL[kind]))
    done = run(tmp_path, "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert status["progress"]["framesDelivered"] == SMALL[kind].get("spec.collection.totalFrames", 4096)
    assert "reward" in status["progress"]["metrics"]


@VARIANT
def test_a_new_project_passes_its_own_test(tmp_path: Path) -> None:
    for name, text in project("ppo", "mine").items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
