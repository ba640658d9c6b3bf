"""``collectorfleet run`` follows a curriculum, and a resumed run goes on from its parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, train_once, write

EXAMPLE = ROOT / "examples" / "lock.yaml"
# Any number of open positions makes the lock longer.
AHEAD = {"spec.driver.curriculum.kwargs": {"ahead": 20}}


def test_the_example_lock_gets_longer_and_a_resumed_run_goes_on_from_its_level(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    # Otherwise one collector may make all frames, or all before there is a result for the curriculum.
    ready = "status.progress.collectors.available == 2 and status.evaluation.finished > 0"
    code["data"]["ready.py"] = train_once("lock", ready)
    checkpoints = tmp_path / "checkpoints"

    def status(frames: int, *options: str, **changes: Any) -> dict[str, Any]:
        small = {
            "spec.collection.framesPerBatch": 128,
            "spec.collection.totalFrames": frames,
            "spec.driver.train": {"function": "ready:train", "kwargs": {"epochs": 1}},
            "spec.driver.checkpoint": {"claimName": "checkpoints"},
            "spec.evaluation.everyVersions": 1,
        }
        file = write(tmp_path, changed(fleet, small | changes), code)
        done = run(file, "-o", "json", "--checkpoint", str(checkpoints), *options)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    first = status(4096, **AHEAD)
    assert first["environmentParameters"] == {
        "version": 1,
        "values": {"level": 20},
        "groups": [],
        "collectors": [],
        "applied": 2,
    }
    # The oldest version in the last batch, which the training function read from the frames.
    assert first["progress"]["metrics"]["oldest_parameters"] == 1
    # Another curriculum would set a lower level, and never does: the level is there from the first frame on.
    second = status(4096 + 1024, "--resume")
    assert second["environmentParameters"]["version"] == 1
    assert second["progress"]["metrics"] == second["progress"]["metrics"] | {"level": 20, "oldest_parameters": 1}


def test_a_curriculum_that_cannot_be_imported_ends_the_run_before_there_is_a_collector(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    file = write(tmp_path, changed(fleet, {"spec.driver.curriculum.function": "lock:harder"}), code)
    done = run(file)
    assert done.returncode == 64  # of the user's code
    assert "import lock:harder: AttributeError: module 'lock' has no attribute 'harder'" in done.stderr
