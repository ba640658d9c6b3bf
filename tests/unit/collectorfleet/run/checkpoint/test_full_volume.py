"""Checkpoints on a real volume of 1 MB."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.collectorfleet.run.volume import on_a_volume_of_1_mb

PROGRAM = """
import logging, sys
from pathlib import Path

import torch
from tests.unit.collectorfleet.run.checkpoint.played_training import Training

logging.basicConfig(format="%(message)s", stream=sys.stdout)
training = Training(Path(sys.argv[1]) / "checkpoints")
weights = {"all": torch.zeros(500_000)}
training.state.keep({"weights": weights})
training.batch(seconds=60)
for _ in range(2):
    assert not training.write()
    print("status:", training.checkpoints.status.failure)
    (training.path / "other").write_bytes(bytes(100_000))
weights["all"] = torch.zeros(10)
assert training.write()
print("status:", training.checkpoints.status.failure)
"""


def test_a_checkpoint_that_does_not_fit_says_how_much_room_there_is_and_how_much_it_needs(tmp_path: Path) -> None:
    if (tried := on_a_volume_of_1_mb(tmp_path, "")).returncode:
        pytest.skip(f"left out: no volume can be mounted here: {tried.stderr}")
    done = on_a_volume_of_1_mb(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("cannot write a checkpoint to ")]) == 1
    first, second, third = (line.removeprefix("status: ") for line in lines if line.startswith("status: "))
    assert "[Errno 28] No space left on device (" in first
    assert " of 1,048,576 bytes left); make room on the volume for a checkpoint of 2,0" in first
    assert second != first
    assert third == "None"
