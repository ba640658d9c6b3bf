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
# A file of the project, a text in it, and the text that replaces it.
NO_CHANGE = ("", "", "")
ACROBOT = ("environment.py", "CartPole-v1", "Acrobot-v1")


VARIANT = pytest.mark.variant_of("tests/run/test_init.py::test_a_new_project_trains")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[VARIANT] if kind != "ppo" else []) for kind in SMALL])
def test_a_new_project_trains(kind: str, tmp_path: Path) -> None:
    check_training(make(kind, tmp_path), kind)


@VARIANT
def test_a_new_project_trains_in_another_environment(tmp_path: Path) -> None:
    check_training(make("ppo", tmp_path, ACROBOT), "ppo")


def check_training(folder: Path, kind: str) -> None:
    (fleet,) = load_file(folder / "fleet.yaml").fleets
    write(folder, changed(fleet.to_wire(), SMALL[kind]))
    done = run(folder, "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert status["progress"]["framesDelivered"] == SMALL[kind].get("spec.collection.totalFrames", 4096)
    assert "reward" in status["progress"]["metrics"]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        *(pytest.param(kind, NO_CHANGE, id=kind) for kind in SMALL),
        *(pytest.param(kind, ACROBOT, id=f"{kind} in Acrobot") for kind in ("ppo", "gather", "script")),
        pytest.param("sac", ("environment.py", "Pendulum-v1", "MountainCarContinuous-v0"), id="sac in a mountain car"),
    ],
)
@VARIANT
def test_a_project_passes_its_own_test(kind: str, change: tuple[str, str, str], tmp_path: Path) -> None:
    done = own_test(make(kind, tmp_path, change))
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("kind", ["ppo", "sac", "script"])
@VARIANT
def test_a_critic_of_the_wrong_size_fails_the_projects_own_test(kind: str, tmp_path: Path) -> None:
    done = own_test(make(kind, tmp_path, ("train.py", "in_features=observations", "in_features=7 + observations")))
    assert done.returncode == 1, done.stdout
    assert "RuntimeError: " in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def make(kind: str, folder: Path, change: tuple[str, str, str] = NO_CHANGE) -> Path:
    """Return ``folder`` with a project. In the file ``change[0]``, ``change[2]`` replaces ``change[1]``."""
    changed_file, before, after = change
    for name, text in project(kind, "mine").items():
        if name == changed_file:
            assert before in text
        (folder / name).write_text(text.replace(before, after) if name == changed_file else text)
    return folder


def own_test(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
