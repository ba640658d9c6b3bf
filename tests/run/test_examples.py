"""Each example runs as it is kept, with fewer frames: reaching their goals takes minutes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, write

EXAMPLES = ROOT / "examples"
# These have tests of their own.
ELSEWHERE = {
    "cartpole": "tests/run/test_run.py",
    "evaluation": "tests/run/test_evaluation.py",
    "cartpole_job": "tests/run/test_processes.py",
    "groups": "tests/run/test_groups.py",
    "lock": "tests/run/test_environment_parameters.py",
    "ppo_script": "tests/run/test_scripts.py",
    "self_play": "tests/run/test_self_play.py",
}
SMALL: dict[str, dict[str, Any]] = {
    "catch": {
        "spec.collection.framesPerBatch": 512,
        "spec.collection.totalFrames": 1024,
        "spec.collectors.replicas": 2,
        "spec.driver.train.kwargs": {"goal": 2.0, "epochs": 1},
    },
    "halfcheetah": {
        "spec.environment.kwargs": {"num_envs": 2},
        "spec.collection.framesPerBatch": 4096,
        "spec.collection.totalFrames": 8192,
        "spec.collectors.replicas": 2,
        "spec.driver.train.kwargs": {"goal": 1e6, "epochs": 1},
    },
    "pendulum": {
        "spec.collection.totalFrames": 1200,
        "spec.driver.train.kwargs": {"goal": 0, "first_frames": 600},
    },
    "ppo_trainer": {
        "spec.collection.totalFrames": 4096,
        "spec.driver.train.kwargs": {"goal": 1e6},
    },
    "simulator": {
        "spec.collection.framesPerBatch": 200,
        "spec.collection.totalFrames": 400,
        "spec.evaluation": {"everyVersions": 1, "episodes": 1},
        "spec.driver.train.kwargs": {"epochs": 1},
    },
    "sac_trainer": {
        "spec.collection.initRandomFrames": 400,
        "spec.collection.totalFrames": 1000,
        "spec.driver.train.kwargs": {"goal": 0},
    },
}
MEASURED = {
    "catch": "caught",
    "halfcheetah": "reward",
    "pendulum": "reward",
    "ppo_trainer": "loss_objective",
    "sac_trainer": "loss_actor",
    "simulator": "loss",
}


def test_every_example_runs_here_or_elsewhere() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {*SMALL, *ELSEWHERE}
    assert [file for name, file in ELSEWHERE.items() if f"{name}.yaml" not in (ROOT / file).read_text()] == []


@pytest.mark.parametrize("name", SMALL)
def test_an_example_trains(name: str, tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())
    done = run(write(tmp_path, changed(fleet, SMALL[name]), code), "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    total = SMALL[name]["spec.collection.totalFrames"]
    assert status["progress"]["framesDelivered"] == total
    assert status["weights"]["published"] >= 1
    assert MEASURED[name] in status["progress"]["metrics"]
