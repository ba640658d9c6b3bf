"""Custom resources of Ray on this machine: as much as the pods of a cluster would have, and collectors take theirs."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, write

COUNTED = """
import time

import groups
import ray

from collectorfleet import current_run


def train(collector, run, **kwargs):
    seen = 0
    while collector.status().progress.collectors.available < 3:
        seen = collector.wait_for_change(seen, 1.0)
    there, taken, end = ray.cluster_resources()["license"], 0.0, time.monotonic() + 60
    # The head hears of what is taken some time after the node has given it.
    while taken < 4 and time.monotonic() < end:
        time.sleep(0.1)
        taken = there - ray.available_resources().get("license", 0.0)
    run.report(there=there, taken=taken)
    groups.train(collector, run, **kwargs)
"""


def test_collectors_take_what_they_ask_for_of_what_pods_would_have(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all((ROOT / "examples/groups.yaml").read_text())
    earth, jupiter = fleet["spec"]["collectors"]["groups"]
    code["data"]["counted.py"] = COUNTED
    changes = {
        "spec.collectors.replicas": 3,
        "spec.collectors.resources.custom": {"license": 0.5},
        "spec.workers.customPerPod": {"license": 1},
        "spec.collectors.groups": [
            {**earth, "replicas": 2},
            {
                **jupiter,
                "replicas": 1,
                "resources": {"custom": {"license": 3}},
                "workers": {"customPerPod": {"license": 4}},
            },
        ],
        "spec.driver.train": {"function": "counted:train", "kwargs": {"goal": 0}},
        "spec.collection.framesPerBatch": 1200,
        "spec.collection.totalFrames": 1200,
    }
    done = run(write(tmp_path, changed(fleet, changes), code), "-o", "json")
    assert done.returncode == 0, done.stderr
    # One pod of two halves, and one of four for one collector of three.
    metrics = json.loads(done.stdout)["progress"]["metrics"]
    assert (metrics["there"], metrics["taken"]) == (5, 4)
