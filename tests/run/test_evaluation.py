"""``collectorfleet run`` evaluates what it publishes, and goes on from the results of its checkpoint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, write

from collectorfleet.codec.video import decode

EXAMPLE = ROOT / "examples" / "evaluation.yaml"


def test_the_example_evaluation_ends_at_its_return_and_a_resumed_run_keeps_the_best(tmp_path: Path) -> None:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    checkpoints = tmp_path / "checkpoints"

    def status(changes: dict[str, Any], *options: str) -> dict[str, Any]:
        small = {
            "spec.collection.framesPerBatch": 256,
            "spec.environment.kwargs.num_envs": 4,
            "spec.driver.train.kwargs": {"epochs": 1},
            "spec.driver.checkpoint": {"claimName": "checkpoints"},
            "spec.evaluation.everyVersions": 1,
            "spec.evaluation.keepBest": True,
            "spec.evaluation.video.everyEvaluations": 1,
        }
        file = write(tmp_path, changed(fleet, small | changes), code)
        page = ("--report", str(tmp_path / "report.html"))
        done = run(file, "-o", "json", "--checkpoint", str(checkpoints), *page, *options)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    first = status({"spec.evaluation.stopWhen.returnMean": 1.0})
    evaluation = first["evaluation"]
    assert evaluation["stopped"]
    assert first["progress"]["framesDelivered"] < 400_000
    # The last version, too: it is newer than the one that reached the goal, or that one itself.
    assert evaluation["version"] == first["weights"]["published"]
    assert (evaluation["episodes"], evaluation["lengthMin"] > 0) == (10, True)
    kept = saved(checkpoints)
    assert kept["best"]["version"] == evaluation["best"]["version"]
    assert sorted(kept["best_weights"]) == sorted(
        f"module.0.module.{layer}.{kind}" for layer in (0, 2, 4) for kind in ("weight", "bias")
    )

    videos = sorted(path.name for path in (checkpoints / "videos").glob("[!.]*"))
    assert len(videos) == evaluation["finished"]
    # The evaluator begins with the version that is newest once it is built.
    assert re.fullmatch(r"version-\d{6}-episode-0-return-.*\.webp", videos[0])
    assert evaluation["video"] == {"version": evaluation["version"], "path": str(checkpoints / "videos" / videos[-1])}
    page = (tmp_path / "report.html").read_text()
    assert f"Episodes of version {evaluation['video']['version']}" in page
    assert page.count("data:image/webp;base64,") == 1
    frames, _ = decode((checkpoints / "videos" / videos[0]).read_bytes())
    assert frames.shape[1:] == (120, 320, 3)

    # A goal that nobody reaches: the best of the first run is still there, unless the second has a better one.
    total = first["progress"]["framesDelivered"] + 512
    second = status({"spec.evaluation.stopWhen.returnMean": 1e6, "spec.collection.totalFrames": total}, "--resume")[
        "evaluation"
    ]
    assert "stopped" not in second
    assert second["finished"] > evaluation["finished"]
    assert second["best"]["returnMean"] >= evaluation["best"]["returnMean"]
    assert second["version"] > evaluation["version"]


def saved(checkpoints: Path) -> dict[str, Any]:
    newest = max(checkpoints.glob("checkpoint-*")) / "state.pt"
    found: dict[str, Any] = torch.load(newest, weights_only=False)["collector.evaluation"]
    return found
