"""A run goes on with what its environments had learnt, from its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tests.e2e import fleets
from tests.run.run_process import run, write

CODE = """
import json

from torchrl.envs import TransformedEnv, VecNormV2
from workload import make_env


def make_normalized(**kwargs):
    return TransformedEnv(make_env(**kwargs), VecNormV2(in_keys=["observation"], out_keys=["normal"]))


def train(collector, run, seen):
    known = [sum(one["updates"] for one in collector.normalization().values())]
    for batch in collector:
        known.append(sum(one["updates"] for one in collector.normalization().values()))
    with open(seen, "w") as out:
        json.dump(known, out)
"""
FRAMES = 200


def test_a_resumed_run_goes_on_with_the_normalization_of_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "normalized.py").write_text(CODE)
    seen = tmp_path / "seen.json"
    fleet = fleets.fleet(
        environment="normalized:make_normalized", train="normalized:train", frames=FRAMES, kwargs={"seen": str(seen)}
    )

    def updates(batches: int, *options: str) -> list[int]:
        fleet["spec"]["collection"]["totalFrames"] = batches * FRAMES
        file = write(tmp_path, fleets.code(), fleet)
        done = run(file, "-o", "json", "--checkpoint", str(tmp_path / "checkpoints"), *options)
        assert done.returncode == 0, done.stderr
        found: list[int] = json.loads(seen.read_text())
        return found

    first = updates(3)
    assert first[0] == 0
    assert first[-1] >= 3 * FRAMES
    saved: dict[str, Any] = torch.load(newest(tmp_path / "checkpoints"), weights_only=True)["collector.normalization"]
    assert [one["updates"] for one in saved.values()] == [first[-1]]
    second = updates(5, "--resume")
    assert second[0] == first[-1]
    assert second[-1] >= first[-1] + 2 * FRAMES


def newest(checkpoints: Path) -> Path:
    return max(checkpoints.glob("checkpoint-*")) / "state.pt"
