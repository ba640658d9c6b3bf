"""Checkpoints on a real volume of 1 MB."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.collectorfleet.run.volume import on_a_volume_of_1_mb

from collectorfleet_api.names import EXIT_INFRASTRUCTURE

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


STARTED_ON_A_FULL_VOLUME = """
import errno, logging, sys
from contextlib import suppress
from pathlib import Path

from collectorfleet.learners.record import Kept, Record, write_record
from collectorfleet.learners.roster import Place
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.exit import exit_code, exit_of
from collectorfleet.run.position import Position
from collectorfleet.run.spec_learners.folders import LearnerFolders

logging.basicConfig(format="%(message)s", stream=sys.stdout)
volume = Path(sys.argv[1])
before = CheckpointFolder(volume / "old", fleet="cheetah", run="run-1")
before.write(Position(100, 10, 3), b"state")
own = LearnerFolders(before.files).make_own()
(own / "policy-a-1.pt").write_bytes(b"learned")
(own / "replay-0-1.pt").write_bytes(b"frames")
write_record(own, Record(1, (1,), {"a": Kept(Place(0, 0), "policy-a-1.pt")}, ("replay-0-1.pt",)))
before.journal.note(120, 4)

def fill():
    with (volume / "filler").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))

fill()
try:
    CheckpointFolder(volume / "new", fleet="cheetah", run="run-1")
except Exception as error:
    print("new:", exit_code(exit_of(error)), exit_of(error).message)

for _ in range(2):  # the second driver displaces the first
    fill()
    driver = CheckpointFolder(volume / "old", fleet="cheetah", run="run-1")
    learners = LearnerFolders(driver.files)
    resumed = learners.take_newest()
    own = learners.make_own()
    assert (driver.run, driver.newest.position) == ("run-1", Position(100, 10, 3))
    assert driver.journal.last_noted == Position(version=4, frames_lost=120)
    assert (resumed / "policy-a-1.pt").read_bytes() == b"learned"
    fill()
    try:
        driver.write(Position(200, 20, 5), b"state" * 9999)
    except OSError as error:
        assert error.errno == errno.ENOSPC
    else:
        raise AssertionError("there is room")

(volume / "filler").unlink()
learners.check()
driver.write(Position(200, 20, 5), b"later")
assert own.is_dir()
assert CheckpointFolder(volume / "old", fleet="cheetah", run="run-1").newest.position == Position(200, 20, 5)
print("went on")
"""


def test_a_driver_that_starts_on_a_full_volume_resumes_or_says_what_is_missing_and_loses_nothing(
    tmp_path: Path,
) -> None:
    done = on_a_volume_of_1_mb(tmp_path, STARTED_ON_A_FULL_VOLUME)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    (new,) = [line for line in lines if line.startswith("new: ")]
    room = r"No space left on device \(\d+ of 1,048,576 bytes left\): '.*'; make room on the volume"
    assert re.fullmatch(
        rf"new: {EXIT_INFRASTRUCTURE} InfrastructureError: checkpoints in {tmp_path}/new: OSError: \[Errno 28\] {room}",
        new,
    )
    assert lines[-1] == "went on"
    said = [line for line in lines if "is full; the run continues" in line]
    assert all(line.endswith("; make room on the volume") for line in said)


def test_a_checkpoint_that_does_not_fit_says_how_much_room_there_is_and_how_much_it_needs(tmp_path: Path) -> None:
    done = on_a_volume_of_1_mb(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("cannot write a checkpoint to ")]) == 1
    first, second, third = (line.removeprefix("status: ") for line in lines if line.startswith("status: "))
    assert "[Errno 28] No space left on device (" in first
    assert f" of 1,048,576 bytes left): '{tmp_path}/" in first
    assert "'; make room on the volume for a checkpoint of 2,0" in first
    assert second != first
    assert third == "None"
