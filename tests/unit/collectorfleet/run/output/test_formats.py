"""The writer of an output is that of its format."""

from __future__ import annotations

from pathlib import Path

from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer

from collectorfleet.run.output.formats import open_writer
from collectorfleet.run.output.replay_buffer import ReplayWriter
from collectorfleet.run.output.rollouts import RolloutWriter
from collectorfleet_api.v1alpha1 import Factory, Output, OutputFormat


def buffer(size: int) -> TensorDictReplayBuffer:
    return TensorDictReplayBuffer(storage=LazyTensorStorage(size))


def test_batches_become_shards_unless_the_fleet_has_a_replay_buffer(tmp_path: Path) -> None:
    shards = open_writer(Output(path=str(tmp_path / "rollouts")), fleet="cheetah", run_id="run-1")
    assert isinstance(shards, RolloutWriter)
    factory = Factory(factory=f"{buffer.__module__}:buffer", kwargs={"size": 7})
    dumps = open_writer(
        Output(path=str(tmp_path / "replay"), format=OutputFormat.REPLAY_BUFFER, replay_buffer=factory),
        fleet="cheetah",
        run_id="run-1",
    )
    assert isinstance(dumps, ReplayWriter)
    assert dumps.buffer.storage.max_size == 7
    assert sorted(one.name for one in tmp_path.iterdir()) == ["replay", "rollouts"]
