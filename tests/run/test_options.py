"""What a manifest's options do to the batches, in a run without Kubernetes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cluster.binaries import ROOT
from tests.manifests import ABSENT, manifest
from tests.run.option_code import ENV_HOOKS, make_plain_buffer
from tests.run.run_process import run, write

CODE = "tests.run.option_code"
PYTHONPATH = f"{ROOT}:{ROOT}/crds:{ROOT}/collector_image"
SMALL = {
    "spec.environment": {"factory": "tests.envs:make_counting"},
    "spec.policy": {"factory": "tests.envs:make_policy", "kwargs": {"value": 1.001}},
    "spec.collectors": {"replicas": 2},
}


def status(folder: Path, changes: dict[str, Any]) -> dict[str, Any]:
    """The final status of a run of the small fleet with ``changes``."""
    file = write(folder, manifest(SMALL | changes))
    done = run(file, "-o", "json", PYTHONPATH=PYTHONPATH, **{ENV_HOOKS: str(folder / "hooks")})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def metrics(folder: Path, changes: dict[str, Any]) -> dict[str, float]:
    """What the training function reported last of each name."""
    found: dict[str, float] = status(folder, changes)["progress"]["metrics"]
    return found


def test_many_options_at_once_do_what_they_say(tmp_path: Path) -> None:
    found = metrics(
        tmp_path,
        {
            "spec.environment": {"factory": f"{CODE}:make_env", "kwargs": {"length": 1000}},
            "spec.policy.trust": True,
            "spec.driver.train.function": f"{CODE}:train",
            "spec.collection": {
                "mode": "Sync",
                "framesPerBatch": 400,
                "totalFrames": 1200,
                "shares": 4,
                "maxFramesPerTraj": 20,
                "initRandomFrames": 400,
                "explorationType": "Deterministic",
                "postproc": {"factory": f"{CODE}:make_postproc", "kwargs": {"key": "made"}},
            },
            "spec.collectors.resources": {"cpu": "1500m"},
            "spec.collectors.devices": {"device": "cpu"},
            "spec.collectors.preCollectHook": f"{CODE}:before",
            "spec.collectors.postCollectHook": f"{CODE}:after",
            "spec.collectors.kwargs": {"set_truncated": True},
            "spec.weights": {
                "dtype": "BFloat16",
                "models": [{"path": "env.world_model", "factory": f"{CODE}:make_world_model"}],
            },
        },
    )
    for number in range(3):
        assert (found[f"shares{number}"], found[f"frames{number}"]) == (4, 100)
        assert found[f"longest{number}"] == 20
        assert found[f"postproc{number}"] == 1
        # Strictly on-policy: a batch is made with what was trained on the one before.
        assert found[f"reward{number}"] == number
    # Two of 800 random numbers of 24 bits may be equal by chance.
    assert found["different_actions0"] > 790, "the first 400 frames are random"
    assert found["different_actions1"] == found["different_actions2"] == 1
    # 1.001 is not a bfloat16.
    assert found["action1"] == found["action2"] == 1
    hooks = (tmp_path / "hooks").read_text().splitlines()
    assert set(hooks) == {"before", "100 frames, 2 threads"}


def test_a_policy_trains_from_a_replay_buffer_that_the_collectors_fill(tmp_path: Path) -> None:
    found = metrics(
        tmp_path,
        {
            "spec.driver.train.function": f"{CODE}:train_from_buffer",
            "spec.collection": {"mode": "Sync", "framesPerBatch": 200, "totalFrames": 600},
            "spec.replayBuffer": {"factory": f"{CODE}:make_buffer", "kwargs": {"size": 1000}},
        },
    )
    assert found == {"nothing": 1, "batches": 3, "written": 600, "sampled": 64, "version": found["version"]}
    assert 1 <= found["version"] <= 3


def test_several_processes_of_several_environments_make_whole_steps_of_a_batch(tmp_path: Path) -> None:
    found = metrics(
        tmp_path,
        {
            "spec.environment": {"factory": f"{CODE}:make_env", "kwargs": {"length": 1000}, "perCollector": 3},
            "spec.driver.train.function": f"{CODE}:train_on_steps",
            "spec.collection": {"mode": "Sync", "framesPerBatch": 240, "totalFrames": 480},
            "spec.collectors.class": "Sync",
            "spec.collectors.numWorkersPerCollector": 2,
        },
    )
    # A share comes from one collector: two processes of three environments each.
    assert found == {"batches": 2, "frames": 240, "shares": 2, "trajectories": 6}


def test_whole_trajectories_of_a_fleet_that_does_not_train_fill_a_replay_buffer_that_loads_again(
    tmp_path: Path,
) -> None:
    replay = tmp_path / "replay"
    progress = status(
        tmp_path,
        {
            "spec.environment": {"factory": f"{CODE}:make_env", "kwargs": {"length": 7}},
            "spec.driver": ABSENT,
            "spec.collection": {"mode": "Sync", "framesPerBatch": 80, "totalFrames": 140, "trajsPerBatch": 5},
            "spec.collectors.kwargs": {"traj_format": "padded"},
            "spec.output": {
                "path": str(replay),
                "format": "ReplayBuffer",
                "replayBuffer": {"factory": f"{CODE}:make_plain_buffer", "kwargs": {"size": 1000}},
            },
        },
    )["progress"]
    dumped = json.loads((replay / "manifest.json").read_text())
    buffer = make_plain_buffer(1000)
    buffer.loads(replay / dumped["dump"])
    assert len(buffer) == dumped["frames"] == progress["framesDelivered"] >= 140
    frames = buffer[:]
    _, lengths = frames["collector", "traj_ids"].unique(return_counts=True)
    assert set(lengths.tolist()) == {7}
