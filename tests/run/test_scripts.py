"""``driver.script``: a program around RayCollector, with one import changed, as the driver of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.forks import program
from tests.run.run_process import Manifest, run, write

EXAMPLE = ROOT / "examples/ppo_script.yaml"

# Everything is defined in the program itself, and so travels to collectors as it is.
PROGRAM = """
import sys

import torch
from tensordict.nn import TensorDictModule
from torchrl.envs import GymEnv

from collectorfleet import FleetCollector, current_run


def make_env():
    return GymEnv("Pendulum-v1")


policy = TensorDictModule(torch.nn.Linear(3, 1), in_keys=["observation"], out_keys=["action"])
progress = {"batches": 0}
restored = current_run().keep(progress=progress)
collector = FleetCollector(make_env, policy, frames_per_batch=40, total_frames=int(sys.argv[1]), num_collectors=7,
                           sync=True, update_after_each_batch=True)
for batch in collector:
    progress["batches"] += 1
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.01)
    current_run().report(batches=progress["batches"], restored=restored, collectors=collector.num_collectors)
"""


def fleet(*args: str, script: str = "program.py", replicas: int = 2) -> Manifest:
    return {
        "apiVersion": "collectorfleet.dev/v1alpha1",
        "kind": "CollectorFleet",
        "metadata": {"name": "scripted"},
        "spec": {
            "image": "test.local/image:1",
            "driver": {"script": script, "args": list(args)},
            "collectors": {"replicas": replicas},
        },
    }


def written(folder: Path, program: str, *args: str, **spec: Any) -> Path:
    (folder / "program.py").write_text(program)
    return write(folder, fleet(*args, **spec))


def test_the_example_trains_by_run(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    fleet["spec"]["driver"]["args"] = ["--goal", "60"]
    done = run(write(tmp_path, fleet, code), "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert status["progress"]["metrics"]["reward"] >= 60
    assert status["weights"]["acknowledged"] > 1
    assert "mean reward of the last 20 episodes: " in done.stderr


def test_the_same_program_runs_by_hand() -> None:
    # Ray would join a cluster of whoever left one on this machine.
    env = {**os.environ, "RAY_ADDRESS": "local"}
    done = program.run([ROOT / "examples/ppo_script/ppo_script.py", "--goal", "40"], env=env, timeout=180)
    assert done.returncode == 0, done.stderr
    assert "mean reward of the last 20 episodes: " in done.stdout


def test_a_script_gets_the_fleets_collectors_whatever_it_says_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    file = written(tmp_path, PROGRAM, "200", replicas=3)
    checkpoints = str(tmp_path / "checkpoints")
    first = run(file, "-o", "json", "--checkpoint", checkpoints)
    assert first.returncode == 0, first.stderr
    status = json.loads(first.stdout)
    assert status["progress"]["metrics"] == {"batches": 5, "restored": 0, "collectors": 3}
    assert len(status["collectors"]) == 3

    written(tmp_path, PROGRAM, "400", replicas=3)
    second = run(file, "-o", "json", "--checkpoint", checkpoints, "--resume")
    assert second.returncode == 0, second.stderr
    resumed = json.loads(second.stdout)
    assert resumed["progress"]["metrics"] == {"batches": 10, "restored": 1, "collectors": 3}
    assert resumed["progress"]["framesDelivered"] == 400
    assert resumed["weights"]["published"] > status["weights"]["published"]


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        pytest.param("raise ValueError('no such game')", "script program.py: ValueError: no such game", id="raises"),
        pytest.param("import sys; sys.exit('bad luck')", "script program.py: SystemExit: bad luck", id="exits"),
        pytest.param("a = 1", "script program.py: it ended without a batch; create a", id="collects nothing"),
        pytest.param(
            PROGRAM.replace("for batch", "FleetCollector(make_env, policy, frames_per_batch=40)\nfor batch"),
            "FleetCollector: the script already has a FleetCollector with all collectors of the fleet",
            id="two collectors",
        ),
    ],
)
def test_what_is_wrong_with_a_script_is_one_sentence(tmp_path: Path, program: str, sentence: str) -> None:
    done = run(written(tmp_path, program, "80"))
    assert done.returncode == 64, done.stderr
    assert sentence in done.stderr


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run(write(tmp_path, fleet(script="nobody.py")))
    assert done.returncode == 64
    assert "script nobody.py: no such file in the code of the fleet or the image" in done.stderr
