"""Learning on one GPU: learner shards, PPO to its goal, and a checkpoint with the optimizer's state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray
import torch
from examples.catch.catch import make_env, make_policy, train
from tensordict import TensorDict
from tests.gpu.on_a_gpu import DEVICE, Doubling, Learner, scaled
from tests.gpu.waits import numbers
from tests.runtime.batches import Make

from collectorfleet import LearnerShards
from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position

pytestmark = pytest.mark.usefixtures("ray_with_a_gpu")


@pytest.fixture
def shards() -> Iterator[LearnerShards]:
    made = LearnerShards(Learner, 4, gpus=0.5, policy_cpus=0.5, replay_cpus=0.5)
    yield made
    made.stop()


def test_policies_of_learner_shards_learn_on_their_parts_of_one_gpu(shards: LearnerShards) -> None:
    wanted = {"a": 1.0, "b": -3.0, "c": 0.5, "d": 2.0}
    shards.add_policies({policy_id: {} for policy_id in wanted})
    for policy_id, mean in wanted.items():
        replay, actor = shards.get_replay_and_policy_actors(policy_id)
        ray.get(replay.extend.remote(policy_id, TensorDict({"x": torch.full((64, 1), mean)}, [64])))
        assert ray.get(actor.memory_fraction.remote()) == pytest.approx(0.125)
    for _ in range(200):
        losses = ray.get([actor.learn.remote(replay.sample.remote(name, 64)) for name, actor, replay in shards])
    assert max(losses) < 0.01
    for policy_id, actor, _ in shards:
        assert ray.get(actor.device.remote()) == torch.device(DEVICE).type
        assert ray.get(actor.weights.remote())["value"].item() == pytest.approx(wanted[policy_id], abs=0.1)


class Run:
    """What a training function is given, and what it said last."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.caught = 0.0

    def keep(self, **objects: Any) -> bool:
        self.kept.update(objects)
        return False

    def report(self, *, caught: float) -> None:
        self.caught = caught


def test_ppo_learns_to_catch_on_one_gpu(make: Make) -> None:
    torch.manual_seed(0)
    collector = make(
        partial(make_env, num_envs=32),
        make_policy(),
        num_collectors=4,
        sync=True,
        max_staleness=1,
        frames_per_batch=4096,
        total_frames=1_000_000,
        update_after_each_batch=True,
        policy_device=DEVICE,
        remote_configs={"num_cpus": 1, "num_gpus": 0.25},
    )
    run = Run()
    train(collector, run, goal=0.9)
    assert run.caught >= 0.9
    assert len(run.kept["caught"]) == 500
    assert {parameter.device.type for parameter in collector.policy.parameters()} == {torch.device(DEVICE).type}


class Training:
    """A policy that Adam moves towards 10 on the GPU, and its checkpoints in ``folder``."""

    def __init__(self, make: Make, folder: Path) -> None:
        self.policy = scaled().to(DEVICE)
        self.adam = torch.optim.Adam(self.policy.parameters(), lr=0.1)
        self.fleet: dict[str, Any] = {}
        files = CheckpointFolder(folder, fleet="gpu", run="run-1")
        state = TrainingState(files.newest.state_file if files.newest else None)
        self.resumed = state.keep({"policy": self.policy, "adam": self.adam, "fleet": self.fleet})
        self.checkpoints = Checkpointer(files, state, timedelta(hours=1), pytest.fail)
        self.collector = make(
            Doubling,
            self.policy,
            num_collectors=1,
            sync=True,
            frames_per_batch=20,
            device=DEVICE,
            update_after_each_batch=True,
            remote_configs={"num_cpus": 1, "num_gpus": 0.5},
            resume_from=self.fleet or None,
        )
        self.batches = iter(self.collector)

    def run(self, batches: int) -> list[list[float]]:
        """Learn from so many batches; return the actions in each of them."""
        seen = []
        for _ in range(batches):
            batch = next(self.batches)
            seen.append(numbers(batch["action"]))
            self.learn(batch["observation"].to(DEVICE))
        return seen

    def learn(self, observation: torch.Tensor) -> None:
        loss = (self.policy(TensorDict({"observation": observation}))["action"] - 10).square().mean()
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    def save(self) -> bool:
        self.fleet.update(self.collector.state_dict())
        return self.checkpoints.write(Position(frames=60, batches=3, version=3))


def test_training_goes_on_from_a_checkpoint_with_the_optimizer_on_the_gpu(make: Make, tmp_path: Path) -> None:
    first = Training(make, tmp_path / "first")
    assert not first.resumed
    before = first.run(3)
    assert first.save()
    uninterrupted = first.run(3)
    first.collector.shutdown(timeout=30)

    second = Training(make, tmp_path / "first")
    assert second.resumed
    moments = [state["exp_avg"] for state in second.adam.state.values()]
    assert [moment.device.type for moment in moments] == [torch.device(DEVICE).type]
    assert second.run(3) == uninterrupted
    assert len({action for (action,) in before + uninterrupted}) == 6
