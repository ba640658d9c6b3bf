"""A volume without room for a shard, as a real one of 1 MB: the run says so, and keeps what it had written."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.collectorfleet.run.volume import on_a_volume_of_1_mb

PROGRAM = """
import json, sys
import torch
from tensordict import TensorDict
from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.errors import InfrastructureError
from collectorfleet.run.output.rollouts import RolloutWriter

def batch(frames):
    return TensorDict({"x": torch.ones(frames, 100), VERSION_KEY: torch.ones(frames, dtype=torch.int64)}, [frames])

folder = sys.argv[1]
writer = RolloutWriter(folder, fleet="cheetah", run_id="run-1")
writer.write(batch(100))
writer.flush()
writer.write(batch(10_000))
try:
    writer.flush()
except InfrastructureError as error:
    print(error)
again = RolloutWriter(folder, fleet="cheetah", run_id="run-1")
again.write(batch(100))
again.flush()
print(again.summary)
"""

DUMP = """
import sys
import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.errors import InfrastructureError
from collectorfleet.run.output.replay_buffer import ReplayWriter

folder = sys.argv[1]
buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(10_000))
writer = ReplayWriter(folder, buffer, fleet="cheetah", run_id="run-1")
frames = {"x": torch.ones(10, 100), VERSION_KEY: torch.ones(10, dtype=torch.int64)}
writer.write(TensorDict(frames, [10]))
try:
    writer.flush()
except InfrastructureError as error:
    print(error)
"""


def test_a_shard_without_room_is_refused_in_a_sentence_and_kills_nobody(tmp_path: Path) -> None:
    done = on_a_volume_of_1_mb(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stderr
    refused, summary = done.stdout.splitlines()
    assert refused.startswith(
        f"spec.output.path {tmp_path}: OSError: [Errno 28] No space left on device (4,000,000 bytes needed, "
    )
    assert summary == f"200 frames in 2 shards are in {tmp_path}"


def test_the_first_dump_of_a_replay_buffer_without_room_is_refused_in_a_sentence_and_kills_nobody(
    tmp_path: Path,
) -> None:
    done = on_a_volume_of_1_mb(tmp_path, DUMP)
    assert done.returncode == 0, done.stderr
    refused = done.stdout.splitlines()[-1]  # TorchRL logs on the same output
    why = rf"spec.output.path {tmp_path}: OSError: \[Errno 28\] No space left on device"
    room = r"\(([\d,]+) bytes needed for a dump of the buffer, [\d,]+ left\)"
    found = re.fullmatch(rf"{why} {room}: '{tmp_path}/dump-000000'; make room on the volume", refused)
    assert found is not None
    assert int(found[1].replace(",", "")) >= 10_000 * 408
