"""What becomes of a replay buffer when its driver is killed, or its own actor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e import fleets
from tests.run.run_process import Manifest, run, start, write
from tests.wait import eventually

FRAMES = 200
# The checkpoint is of the fifth batch; behind it `pids` names the processes.
CODE = """
import os
from functools import partial

import ray
import torch
from torchrl.data import LazyTensorStorage, PrioritizedSampler, TensorDictReplayBuffer


def make_buffer(size):
    here = {f"node:{ray.util.get_node_ip_address()}": 0.001}
    return TensorDictReplayBuffer(
        storage=partial(LazyTensorStorage, size),
        sampler=partial(PrioritizedSampler, size, alpha=1.0, beta=1.0),
        batch_size=64,
        service_backend="ray",
        service_backend_options={"remote_config": {"num_cpus": 0, "resources": here}},
    )


def train(collector, run, pids):
    buffer = collector.replay_buffer
    run.report(found=len(buffer), written_before=buffer.write_count)
    for number, _ in enumerate(collector):
        buffer.sample()
        if number == 4 and run.checkpoint():
            pid = ray.get(buffer._rb.__ray_call__.remote(lambda _: os.getpid()))
            with open(f"{pids}.new", "w") as out:
                out.write(f"{os.getpid()} {pid}")
            os.replace(f"{pids}.new", pids)
"""


class Run:
    """A fleet that writes into a replay buffer, in a folder of its own."""

    def __init__(self, folder: Path, short_tmp: Path, *, checkpoint: bool) -> None:
        self._folder, self._env = folder, {"TMPDIR": str(short_tmp)}
        self._checkpoints = ["--checkpoint", str(folder / "checkpoints")]
        self._fleet: Manifest = fleets.fleet(
            replicas=2, train="from_buffer:train", frames=FRAMES, kwargs={"pids": str(folder / "pids")}
        )
        buffer = {"factory": "from_buffer:make_buffer", "kwargs": {"size": 100_000}, "checkpoint": checkpoint}
        self._fleet["spec"]["replayBuffer"] = buffer
        self._fleet["spec"]["driver"]["checkpoint"] = {"claimName": "only-on-a-cluster", "everySeconds": 3600}
        (folder / "from_buffer.py").write_text(CODE)

    def begin_and_kill(self, which: int) -> tuple[int, str]:
        """Kill the driver (0) or the buffer's actor (1) behind the checkpoint; exit code and stderr of the run."""
        process = start(write(self._folder, fleets.code(), self._fleet), *self._checkpoints, **self._env)
        try:
            pids = self._folder / "pids"
            eventually(lambda: pids.exists() or process.poll() is not None, within=120, what="a checkpoint")
            assert self._ray_processes()
            os.kill(int(pids.read_text().split()[which]), signal.SIGKILL)
            _, err = process.communicate(timeout=120)
        finally:
            process.kill()
        eventually(self._ray_processes, until=lambda left: not left, within=60, what="Ray ends with its driver")
        return process.returncode, err

    def saved_frames(self) -> int:
        newest = max((self._folder / "checkpoints").glob("checkpoint-*/checkpoint.json"))
        return int(json.loads(newest.read_text())["position"]["frames"])

    def go_on(self) -> tuple[dict[str, Any], str]:
        """Two batches more than in the checkpoint: ``status.progress``, and what was said."""
        self._fleet["spec"]["collection"]["totalFrames"] = self.saved_frames() + 2 * FRAMES
        file = write(self._folder, fleets.code(), self._fleet)
        done = run(file, "-o", "json", *self._checkpoints, "--resume", **self._env)
        assert done.returncode == 0, done.stderr
        progress: dict[str, Any] = json.loads(done.stdout)["progress"]
        return progress, done.stderr

    def _ray_processes(self) -> str:
        words = ["pgrep", "-f", f"{self._env['TMPDIR']}/cfleet-"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def test_a_killed_run_goes_on_with_what_was_in_its_replay_buffer(tmp_path: Path, short_tmp: Path) -> None:
    killed = Run(tmp_path, short_tmp, checkpoint=True)
    assert killed.begin_and_kill(0)[0] == -signal.SIGKILL
    saved = killed.saved_frames()
    progress, said = killed.go_on()
    assert saved == 5 * FRAMES
    # At least what was handed out: collectors may have written more of the next batch.
    assert progress["metrics"]["found"] == progress["metrics"]["written_before"] >= saved
    assert progress["replayBufferFramesLost"] == 0
    assert "replay buffer" not in said


def test_without_its_content_a_killed_run_says_what_is_not_in_its_replay_buffer(
    tmp_path: Path, short_tmp: Path
) -> None:
    killed = Run(tmp_path, short_tmp, checkpoint=False)
    killed.begin_and_kill(0)
    saved = killed.saved_frames()
    progress, said = killed.go_on()
    assert progress["metrics"]["found"] == 0
    assert progress["replayBufferFramesLost"] == saved
    assert f"the replay buffer begins empty, without the {saved} frames written before" in said


def test_a_run_whose_replay_buffer_is_lost_ends_by_that_name_and_goes_on_from_its_checkpoint(
    tmp_path: Path, short_tmp: Path
) -> None:
    lost = Run(tmp_path, short_tmp, checkpoint=True)
    code, said = lost.begin_and_kill(1)
    # Trying again helps, as on a cluster the operator does.
    assert code == 1
    assert "replay buffer: its actor and its content were lost" in said
    saved = lost.saved_frames()
    assert saved == 5 * FRAMES
    progress, _ = lost.go_on()
    assert progress["metrics"]["found"] >= saved
    assert progress["framesDelivered"] == saved + 2 * FRAMES
