"""The example of two groups, on this machine: each collector steps the environment of its group."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, train_once, write

EXAMPLE = ROOT / "examples/groups.yaml"


def test_collectors_of_two_groups_make_batches_together(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    earth, jupiter = fleet["spec"]["collectors"]["groups"]
    code["data"]["ready.py"] = train_once("groups", "status.progress.collectors.available == 2")
    changes = {
        "spec.collectors.replicas": 2,
        "spec.collectors.groups": [{**earth, "replicas": 1}, jupiter],
        "spec.driver.train": {"function": "ready:train", "kwargs": {"goal": 0}},
    }
    done = run(write(tmp_path, changed(fleet, changes), code), "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    counts = status["progress"]["collectors"]
    assert [(one["name"], one["desired"]) for one in counts["groups"]] == [("earth", 1), ("jupiter", 1)]
    assert {row["group"]: row["frames"] > 0 for row in status["collectors"]} == {"earth": True, "jupiter": True}
    assert status["progress"]["framesDelivered"] == 2048
