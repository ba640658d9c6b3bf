"""A run that is ended from outside leaves its last checkpoint, however long that takes and whatever it was doing."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from tests.combinations.parts import JOB
from tests.e2e import fleets
from tests.forks import program
from tests.manifests import changed
from tests.run.run_process import start, write
from tests.wait import eventually

FRAMES = 200

# A checkpoint takes until there is a file `go`.
TRAIN = """
import os
import threading
from pathlib import Path


class Slow:
    def __init__(self, folder, run):
        self.folder, self.run = Path(folder), run

    def state_dict(self):
        if self.run.stop_requested:
            (self.folder / "writing").touch()
            while not (self.folder / "go").exists():
                threading.Event().wait(0.05)
        return {}

    def load_state_dict(self, state):
        pass


def train(collector, run, folder):
    run.keep(slow=Slow(folder, run))
    for _ in collector:
        (Path(folder) / "trained").touch()


def train_elsewhere(collector, run, folder):
    os.chdir(folder + "/elsewhere")
    for _ in collector:
        (Path(folder) / "trained").touch()


def train_and_hang(collector, run, folder):
    progress = {"updates": 0, "is_whole": True}
    run.keep(progress=progress)
    for _ in collector:
        progress["is_whole"] = False
        progress["updates"] += 1
        if progress["updates"] == 3:
            (Path(folder) / "trained").touch()
            threading.Event().wait()
        progress["is_whole"] = True
"""


@contextmanager
def training(folder: Path, function: str, *options: str) -> Iterator[program.Program]:
    """A run that has a batch."""
    options = options or ("--checkpoint", str(folder / "checkpoints"))
    (folder / "ended.py").write_text(TRAIN)
    fleet = fleets.fleet(train=f"ended:{function}", frames=FRAMES, kwargs={"folder": str(folder)})
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": "only-on-a-cluster", "everySeconds": 3600}
    process = start(write(folder, fleets.code(), changed(fleet, JOB)), *options)
    try:
        eventually((folder / "trained").exists, within=120, what="a batch")
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def left(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The words and the state of the only checkpoint."""
    [found] = (folder / "checkpoints").glob("checkpoint-*")
    return json.loads((found / "checkpoint.json").read_text()), torch.load(found / "state.pt", weights_only=False)


def test_no_signal_interrupts_the_last_checkpoint(tmp_path: Path) -> None:
    with training(tmp_path, "train") as process:
        process.send_signal(signal.SIGTERM)
        eventually((tmp_path / "writing").exists, within=60, what="the last checkpoint is being written")
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
        (tmp_path / "go").touch()
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM, said
    words, _ = left(tmp_path)
    assert words["position"]["frames"] >= FRAMES
    assert not words["completed"]


def test_a_run_that_is_interrupted_in_a_batch_leaves_what_was_learned_from_the_batches_before_it(
    tmp_path: Path,
) -> None:
    with training(tmp_path, "train_and_hang") as process:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM, said
    words, state = left(tmp_path)
    updates = state["progress"]["updates"]
    assert state["progress"] == {"updates": updates, "is_whole": True}
    assert words["position"]["frames"] == updates * FRAMES
    assert updates in (1, 2)


def test_a_last_checkpoint_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    with training(tmp_path, "train") as process:
        (tmp_path / "go").touch()
        # Not removed file by file, because the run may write its timeline meanwhile.
        (tmp_path / "checkpoints").rename(tmp_path / "moved")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "warning: the last checkpoint could not be written: " in said
    assert "; there is no earlier checkpoint" in said


def test_paths_of_the_command_line_stay_where_they_were_if_the_code_changes_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    options = ("--checkpoint", "checkpoints", "--report", "report.html")
    with training(tmp_path, "train_elsewhere", *options) as process:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, said
    words, _ = left(tmp_path)
    assert words["position"]["frames"] >= FRAMES
    assert "stopped: SIGTERM" in (tmp_path / "report.html").read_text()
    assert list((tmp_path / "elsewhere").iterdir()) == []
