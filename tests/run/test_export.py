"""A run that evaluates: what it shows and records of that, and its best weights as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.e2e import fleets, workload
from tests.manifests import changed
from tests.run.run_process import run, write

from collectorfleet.cli.main import main
from collectorfleet.timeline import files


def test_the_best_weights_of_a_run_become_a_file_and_its_evaluations_are_shown_and_recorded(tmp_path: Path) -> None:
    kept, log = tmp_path / "kept", tmp_path / "tensorboard"
    changes = {
        "spec.evaluation": {"everyVersions": 2, "episodes": 3, "keepBest": True},
        "spec.driver.checkpoint": {"claimName": "kept"},
        "spec.driver.log": {"tensorboard": str(log), "everySeconds": 1},
    }
    file = write(tmp_path, fleets.code(), changed(fleets.fleet(kwargs={"batches": 4}), changes))
    done = run(file, "--checkpoint", str(kept), "-o", "json")
    assert done.returncode == 0, done.stderr
    evaluation = json.loads(done.stdout)["evaluation"]
    best = evaluation["best"]

    assert main(["export", str(kept), "--best", "-o", str(tmp_path / "policy.pt")]) == 0
    exported = torch.load(tmp_path / "policy.pt", weights_only=True)
    assert exported["metadata"]["version"] == str(best["version"])
    # A status has three digits after the point.
    assert float(exported["metadata"]["return_mean"]) == pytest.approx(best["returnMean"], abs=1e-3)
    workload.make_policy().load_state_dict(exported["state_dict"])

    assert f"evaluation {evaluation['summary']} (version {evaluation['version']}, best " in done.stderr
    timeline = files.read(kept / files.NAME)
    assert timeline is not None
    assert timeline.evaluations[-1].version == evaluation["version"]
    assert timeline.evaluations[-1].return_mean == pytest.approx(evaluation["returnMean"], abs=1e-3)

    logged = EventAccumulator(str(log / "fleet"))
    logged.Reload()
    newest = logged.Scalars("collectorfleet/evaluation_return_mean")[-1]
    assert newest.value == pytest.approx(evaluation["returnMean"], abs=1e-3)
