"""The example of two policies that learn from each other, as a person runs it: as a program, and as a fleet."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml
from tests.cluster.binaries import ROOT
from tests.forks import program
from tests.manifests import ABSENT, changed
from tests.run.run_process import run, write

SCRIPT = ROOT / "examples/self_play/self_play.py"
EXAMPLE = ROOT / "examples/self_play.yaml"

# Untrained, x wins half of its games and o a third.
BETTER_THAN_RANDOM = {"x": 0.75, "o": 0.55}


def test_two_policies_that_only_play_each_other_learn_to_beat_who_moves_at_random(short_tmp: Path) -> None:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image", "RAY_TMPDIR": str(short_tmp)}
    done = program.run([SCRIPT, "--frames", "20000"], env=env, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "20000 frames x " in done.stdout
    found = re.findall(r"^([xo]) against random moves: wins ([\d.]+)%, loses ([\d.]+)%$", done.stdout, re.MULTILINE)
    wins = {player: float(part) / 100 for player, part, _ in found}
    assert {player for player in BETTER_THAN_RANDOM if wins[player] > BETTER_THAN_RANDOM[player]} == {"x", "o"}


def fleet(tmp_path: Path, changes: dict[str, Any]) -> Path:
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    return write(tmp_path, changed(fleet, changes), code)


def ran(file: Path, *options: str) -> dict[str, Any]:
    done = run(file, "-o", "json", *options)
    assert done.returncode == 0, done.stderr
    status: dict[str, Any] = json.loads(done.stdout)
    return status


def test_as_a_fleet_both_learn_too_and_the_status_says_what_of(tmp_path: Path) -> None:
    status = ran(fleet(tmp_path, {"spec.collection.totalFrames": 6000}))
    assert status["progress"]["framesDelivered"] == 6000
    assert {"x_wins", "o_wins"} <= set(status["progress"]["metrics"])
    learners = status["learners"]
    assert (learners["shards"], learners["places"], learners["used"]) == (2, 2, 2)
    assert [(one["id"], one["shard"]) for one in learners["policies"]] == [("x", 0), ("o", 1)]
    for policy in learners["policies"]:
        assert 1 < policy["published"] <= status["weights"]["published"]
        assert policy["publishLag"] == policy["published"] - policy["acknowledged"]
        assert policy["steps"] == 12
        assert policy["frames"] > 1500
        assert policy["staleness"]["max"] > policy["staleness"]["mean"] > 0


OTHER = """
import torch
from self_play import Values, moves_of_each
from tensordict.nn import TensorDictModule


class Other(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.new = Values(), Values()

    def forward(self, board, mask, turn):
        found = torch.where(turn == 0, self.x(board), self.new(board)).masked_fill(~mask, -torch.inf)
        return torch.distributions.Categorical(logits=6 * found).sample()


def make_policy():
    return TensorDictModule(Other(), in_keys=["board", "mask", "turn"], out_keys=["action"])


def split(frames):
    moves = moves_of_each(frames)
    return {"x": moves["x"], "new": moves["o"]}
"""


def test_without_a_training_function_each_learns_once_after_each_batch_and_goes_on_from_its_checkpoint(
    tmp_path: Path,
) -> None:
    by_themselves = {"spec.driver.train": ABSENT, "spec.learners.batchSize": 512, "spec.collectors.replicas": 1}
    folder = tmp_path / "kept"
    first = ran(fleet(tmp_path, {**by_themselves, "spec.collection.totalFrames": 2000}), "--checkpoint", str(folder))
    x, o = first["learners"]["policies"]
    assert (x["steps"], o["steps"]) == (4, 4)
    assert set(first["progress"]["metrics"]) == {"learn/x", "learn/o"}

    # Its place is kept for x, whatever stands before it; o is gone, and somebody else is in its place.
    policies = [{"id": "new", "module": "module.new"}, {"id": "x", "module": "module.x"}]
    source = fleet(
        tmp_path,
        {
            **by_themselves,
            "spec.collection.totalFrames": 4000,
            "spec.learners.policies": policies,
            "spec.learners.split": "other:split",
            "spec.policy.factory": "other:make_policy",
        },
    )
    objects = list(yaml.safe_load_all(source.read_text()))
    objects[1]["data"]["other.py"] = OTHER
    again = ran(write(tmp_path, *objects), "--checkpoint", str(folder), "--resume")
    rows = {one["id"]: one for one in again["learners"]["policies"]}
    assert {name: row["shard"] for name, row in rows.items()} == {"x": x["shard"], "new": o["shard"]}
    assert {name: row["steps"] for name, row in rows.items()} == {"x": 8, "new": 4}
    assert rows["x"]["published"] > x["published"]
    assert rows["x"]["frames"] > x["frames"]
    assert rows["x"]["staleness"]["max"] >= 4
    # Of o nothing is left, and of the first driver's files neither, nor of the copy that the second one resumed from.
    assert rows["new"]["staleness"]["max"] <= 4
    assert [path.name for path in folder.glob("learners-*")] == ["learners-000002"]
    assert again["progress"]["replayBufferFramesLost"] == 0

    # A third place makes another shard, and the frames of all policies are dropped.
    spec = objects[0]["spec"]
    spec["learners"]["maxPolicies"], spec["collection"]["totalFrames"] = 3, 4500
    done = run(write(tmp_path, *objects), "--checkpoint", str(folder), "--resume", "-o", "json")
    assert done.returncode == 0, done.stderr
    third: dict[str, Any] = json.loads(done.stdout)
    assert third["progress"]["replayBufferFramesLost"] == 4000
    assert "learners: the replay actors begin without the 4000 frames written before, because the places" in done.stderr
    rows = {one["id"]: one for one in third["learners"]["policies"]}
    assert {name: row["steps"] for name, row in rows.items()} == {"x": 9, "new": 5}
    assert rows["x"]["frames"] < 500


KILLER = """
import os
import signal

import ray


def train(collector, run):
    for number, _ in enumerate(collector, 1):
        run.learners.learn(64)
        run.learners.feed.publish(collector)
        if number == 2:
            assert run.checkpoint()
            for actor in run.learners.shards.get_replay_and_policy_actors("x"):
                os.kill(ray.get(actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)
"""


def test_a_learner_and_its_replay_actor_that_are_killed_come_back_from_the_checkpoint_of_the_run(
    tmp_path: Path,
) -> None:
    source = fleet(
        tmp_path,
        {
            "spec.driver.train": {"function": "killer:train"},
            "spec.collection.totalFrames": 2000,
            "spec.collectors.replicas": 1,
        },
    )
    objects = list(yaml.safe_load_all(source.read_text()))
    objects[1]["data"]["killer.py"] = KILLER
    status = ran(write(tmp_path, *objects), "--checkpoint", str(tmp_path / "kept"))
    assert status["progress"]["framesDelivered"] == 2000
    # Two before the kill, which it would not know of otherwise, and two after it.
    assert {one["id"]: one["steps"] for one in status["learners"]["policies"]} == {"x": 4, "o": 4}
