"""``launcher: Job`` on this machine: the same manifest, and no Ray."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from tests.cluster.binaries import ROOT
from tests.combinations.parts import JOB
from tests.manifests import changed
from tests.run.run_process import run, write

NAMES = ("raylet", "gcs_server")
# What the program of a user says of how its run by hand is carried is not what the fleet says.
PROGRAM = """
import psutil
import torch
from tensordict.nn import TensorDictModule
from torchrl.envs import GymEnv

from collectorfleet import FleetCollector, current_run


def make_env():
    print("a collector prints")
    return GymEnv("Pendulum-v1")


policy = TensorDictModule(torch.nn.Linear(3, 1), in_keys=["observation"], out_keys=["action"])
collector = FleetCollector(make_env, policy, frames_per_batch=40, total_frames=80, num_collectors=7, sync=True,
                           remote_configs={"num_cpus": 4}, ray_init_config={"num_cpus": 28})
for batch in collector:
    running = [one.name() for one in psutil.Process().children(recursive=True)]
    current_run().report(collectors=collector.num_collectors, of_ray=sum(name in NAMES for name in running))
""".replace("NAMES", repr(NAMES))


def test_the_example_trains_in_processes(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all((ROOT / "examples/cartpole_job.yaml").read_text())
    small = {"spec.collection.totalFrames": 4096, "spec.driver.train.kwargs": {"goal": 0}}
    done = run(write(tmp_path, changed(fleet, small), code), "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert status["weights"]["transport"] == "TorchDistributed"
    assert status["progress"]["framesDelivered"] == 2048
    assert {one["name"] for one in status["collectors"]} == {"c0", "c1"}


def test_a_script_has_the_fleets_processes_and_no_ray(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    fleet = {
        "apiVersion": "collectorfleet.dev/v1alpha1",
        "kind": "CollectorFleet",
        "metadata": {"name": "scripted"},
        "spec": {
            "image": "test.local/image:1",
            "driver": {"script": "program.py"},
            "collectors": {"replicas": 2},
        },
    }
    done = run(write(tmp_path, changed(fleet, JOB)), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["progress"]["metrics"] == {"collectors": 2, "of_ray": 0}
    assert "a collector prints" not in done.stderr
