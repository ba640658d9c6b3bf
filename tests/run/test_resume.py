"""A driver that is killed, and the one that goes on from its checkpoint."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDict
from tests.combinations.parts import JOB
from tests.e2e import fleets
from tests.manifests import changed
from tests.run.run_process import run, start, write
from tests.wait import eventually

from collectorfleet_api.names import EXIT_INFRASTRUCTURE

FRAMES = 200

# Notes each batch in `seen` as it comes: frames handed out so far and the versions that it was made with.
TRAIN = """
import json

import torch


def train(collector, run, seen, restored):
    optimizer = torch.optim.Adam(collector.policy.parameters(), lr=1e-3)
    progress = {"updates": 0}
    if run.keep(optimizer=optimizer, progress=progress):
        policy = {name: value.clone() for name, value in collector.policy.state_dict().items()}
        torch.save({"policy": policy, "optimizer": optimizer.state_dict(), "progress": dict(progress)}, restored)
    for batch in collector:
        versions = batch["collector", "weights_version"]
        with open(seen, "a") as out:
            out.write(json.dumps([collector.counters()["frames"], int(versions.min()), int(versions.max())]) + "\\n")
        optimizer.zero_grad()
        sum((parameter**2).sum() for parameter in collector.policy.parameters()).backward()
        optimizer.step()
        progress["updates"] += 1
        run.report(updates=progress["updates"])
        if progress["updates"] == 5:
            run.checkpoint()
"""


class Killed:
    """A run in a folder, killed when it was some batches behind a checkpoint."""

    def __init__(self, folder: Path, short_tmp: Path, fleet: dict[str, Any]) -> None:
        self.checkpoints = folder / "checkpoints"
        self.seen = folder / "seen.jsonl"
        self._env = {"TMPDIR": str(short_tmp)}
        (folder / "resumed.py").write_text(TRAIN)
        self.file = write(folder, fleets.code(), fleet)

    def kill_behind_a_checkpoint(self) -> None:
        process = start(self.file, "--checkpoint", str(self.checkpoints), **self._env)
        try:
            eventually(lambda: list(self.checkpoints.glob("checkpoint-*")), within=120, what="a checkpoint")
            there = self.far()
            eventually(lambda: self.far() >= there + 5 * FRAMES, within=60, what="five batches more")
            assert process.poll() is None
            assert self._ray_processes()
            process.send_signal(signal.SIGKILL)
        finally:
            process.kill()
            process.communicate(timeout=30)
        eventually(self._ray_processes, until=lambda left: not left, within=60, what="Ray ends with its driver")

    def far(self) -> int:
        raise NotImplementedError

    def newest(self) -> dict[str, Any]:
        """The newest checkpoint's own words."""
        folder = max(self.checkpoints.glob("checkpoint-*"))
        found: dict[str, Any] = json.loads((folder / "checkpoint.json").read_text())
        return {**found["position"], "completed": found["completed"], "state": folder / "state.pt"}

    def policy(self) -> dict[str, torch.Tensor]:
        """Of the newest checkpoint."""
        found: dict[str, torch.Tensor] = torch.load(self.newest()["state"], weights_only=False)["policy"]
        return found

    def again(self, *options: str) -> subprocess.CompletedProcess[str]:
        return run(self.file, "-o", "json", "--checkpoint", str(self.checkpoints), *options, **self._env)

    def _ray_processes(self) -> str:
        words = ["pgrep", "-f", f"{self._env['TMPDIR']}/cfleet-"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout


class KilledTraining(Killed):
    def batches(self) -> list[list[int]]:
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []

    def far(self) -> int:
        batches = self.batches()
        return batches[-1][0] if batches else 0


def test_a_killed_run_goes_on_from_its_checkpoint_and_counts_nothing_twice(tmp_path: Path, short_tmp: Path) -> None:
    restored = tmp_path / "restored.pt"
    kwargs = {"seen": str(tmp_path / "seen.jsonl"), "restored": str(restored)}
    fleet = fleets.fleet(replicas=2, train="resumed:train", frames=FRAMES, kwargs=kwargs)
    # Only the one that the function asks for.
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": "only-on-a-cluster", "everySeconds": 3600}
    killed = KilledTraining(tmp_path, short_tmp, fleet)
    killed.kill_behind_a_checkpoint()

    before, saved = killed.batches(), killed.newest()
    state = torch.load(saved["state"], weights_only=False)
    assert (saved["frames"], saved["batches"], saved["completed"]) == (5 * FRAMES, 5, False)
    assert state["progress"] == {"updates": 5}

    refused = killed.again()
    assert refused.returncode == 64
    assert "the folder is not empty; resume its run with --resume, or name an empty folder" in refused.stderr

    total = saved["frames"] + 10 * FRAMES
    fleet["spec"]["collection"]["totalFrames"] = total
    write(tmp_path, fleets.code(), fleet)
    done = killed.again("--resume")
    assert done.returncode == 0, done.stderr
    assert f"resuming from the checkpoint at {saved['frames']} frames" in done.stderr

    # Frames: those of the checkpoint, then the next ones; what the killed driver had besides is lost.
    after = killed.batches()[len(before) :]
    assert [frames for frames, _, _ in after] == list(range(saved["frames"] + FRAMES, total + 1, FRAMES))
    status = json.loads(done.stdout)
    progress = status["progress"]
    assert progress["framesDelivered"] == total
    assert progress["batches"] == total // FRAMES
    # It may have been killed after a batch was handed out and before it was noted.
    assert progress["framesLost"] - (before[-1][0] - saved["frames"]) in (0, FRAMES)
    assert status["checkpoint"]["frames"] == total

    # Versions: the next ones.
    assert min(low for _, low, _ in after) > max(high for _, _, high in before)
    assert status["weights"]["published"] <= saved["version"] + len(before) + len(after) + 5

    # The training: as it was at the checkpoint, to the bit.
    found = torch.load(restored, weights_only=False)
    assert found["progress"] == state["progress"]
    assert found["policy"].keys() == state["policy"].keys()
    for name, tensor in found["policy"].items():
        assert torch.equal(tensor, state["policy"][name]), name
    assert found["optimizer"]["state"]
    assert found["optimizer"]["state"].keys() == state["optimizer"]["state"].keys()
    for index, moments in found["optimizer"]["state"].items():
        for name, tensor in moments.items():
            assert torch.equal(tensor, state["optimizer"]["state"][index][name]), name
    assert progress["metrics"]["updates"] == total // FRAMES

    over = killed.again("--resume")
    assert over.returncode == 64
    assert f"collection.totalFrames is {total}, but the checkpoint's run completed" in over.stderr


def test_a_run_that_failed_before_its_first_checkpoint_is_replaced_by_the_next_run(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    file = write(tmp_path, fleets.code(), fleets.fleet(train="workload:train_fails"))
    assert run(file, "--checkpoint", str(kept)).returncode == 64
    ended = (kept / "timeline.json").read_text()
    assert sorted(one.name for one in kept.iterdir() if one.name[0] != ".") == [
        "fleet.json",
        "journal",
        "timeline.json",
    ]

    file = write(tmp_path, fleets.code(), fleets.fleet(kwargs={"batches": 2}))
    # As a killed run leaves it, or a run that continues.
    (kept / "timeline.json").write_text(json.dumps(json.loads(ended) | {"ended": None}))
    refused = run(file, "--checkpoint", str(kept))
    assert refused.returncode == 64
    assert refused.stderr == (
        f"error: --checkpoint {kept}: the earlier run left no checkpoint, but may still run; end its process and "
        "remove the folder to start over, or name an empty folder\n"
    )

    # As a completed run leaves it if its volume is full.
    (kept / "timeline.json").write_text(json.dumps(json.loads(ended) | {"ended": "completed: done"}))
    refused = run(file, "--checkpoint", str(kept))
    assert refused.returncode == 64
    assert "the folder is not empty" in refused.stderr

    (kept / "timeline.json").write_text(ended)
    done = run(file, "-o", "json", "--checkpoint", str(kept))
    assert done.returncode == 0, done.stderr
    assert f"--checkpoint {kept}: the earlier run left no checkpoint, so the run starts over\n" in done.stderr
    progress = json.loads(done.stdout)["progress"]
    assert (progress["framesDelivered"], progress["framesLost"]) == (2 * FRAMES, 0)
    timeline = json.loads((kept / "timeline.json").read_text())
    assert timeline["happened"] == []
    assert timeline["began"] > json.loads(ended)["began"]

    refused = run(file, "--checkpoint", str(kept))
    assert refused.returncode == 64
    assert refused.stderr == (
        f"error: --checkpoint {kept}: the folder is not empty; resume its run with --resume, or name an empty folder\n"
    )


class KilledWriting(Killed):
    def shards(self) -> list[dict[str, Any]]:
        file = self.file.parent / "rollouts/manifest.json"
        return list(json.loads(file.read_text())["shards"]) if file.exists() else []

    def far(self) -> int:
        return sum(int(shard["frames"]) for shard in self.shards())


def test_a_killed_run_that_writes_goes_on_behind_the_last_whole_shard(tmp_path: Path, short_tmp: Path) -> None:
    fleet = fleets.fleet(replicas=2, frames=FRAMES)
    del fleet["spec"]["driver"]["train"]
    fleet["spec"]["driver"]["checkpoint"] = {"claimName": "only-on-a-cluster", "everySeconds": 1}
    fleet["spec"]["output"] = {"path": str(tmp_path / "rollouts")}
    killed = KilledWriting(tmp_path, short_tmp, fleet)
    killed.kill_behind_a_checkpoint()

    written, whole, policy = killed.far(), len(killed.shards()), killed.policy()
    total = written + 5 * FRAMES
    fleet["spec"]["collection"]["totalFrames"] = total
    write(tmp_path, fleets.code(), fleet)
    done = killed.again("--resume")
    assert done.returncode == 0, done.stderr
    assert f"resuming after {written} frames of output" in done.stderr
    assert killed.far() == total
    status = json.loads(done.stdout)
    assert status["progress"]["framesDelivered"] == total
    assert status["weights"]["published"] > 1
    # The same policy, though its factory draws other weights each time.
    again = killed.policy()
    assert all(torch.equal(again[name], tensor) for name, tensor in policy.items())
    shards = killed.shards()
    assert sum(shard["frames"] for shard in shards) == total
    # No trajectory of the second driver has the number of one of the first.
    ids = [TensorDict.load_memmap(tmp_path / "rollouts" / shard["name"])["collector", "traj_ids"] for shard in shards]
    first, second = (torch.cat([one.flatten() for one in part]).unique() for part in (ids[:whole], ids[whole:]))
    assert not torch.isin(first, second).any()
    versions = [(shard["weightsVersions"]["min"], shard["weightsVersions"]["max"]) for shard in shards]
    assert versions == sorted(versions)


SLOW = """
import time


def train(collector, run, batches):
    for number, _ in enumerate(collector, start=1):
        if number == batches:
            return
        time.sleep(0.05)
"""


def test_of_two_runs_in_one_folder_the_later_one_goes_on_and_the_earlier_one_ends(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"

    def manifest(name: str, batches: int) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "slow.py").write_text(SLOW)
        fleet = fleets.fleet(train="slow:train", frames=FRAMES, kwargs={"batches": batches})
        fleet["spec"]["driver"]["checkpoint"] = {"claimName": "only-on-a-cluster", "everySeconds": 1}
        return write(folder, fleets.code(), changed(fleet, JOB))

    earlier = start(manifest("earlier", batches=1_000_000), "--checkpoint", str(checkpoints))
    try:
        eventually(lambda: list(checkpoints.glob("checkpoint-*")), within=120, what="a checkpoint")
        later = run(manifest("later", batches=5), "-o", "json", "--checkpoint", str(checkpoints), "--resume")
        assert later.returncode == 0, later.stderr
        said, _ = earlier.communicate(timeout=60)
    finally:
        earlier.kill()
        earlier.communicate(timeout=30)
    assert earlier.returncode == EXIT_INFRASTRUCTURE
    assert f"stopped: checkpoints in {checkpoints}: another driver has taken over the folder (" in said
    newest = max(checkpoints.glob("checkpoint-*"))
    kept = json.loads((newest / "checkpoint.json").read_text())
    assert kept["completed"]
    assert kept["position"]["frames"] == json.loads(later.stdout)["progress"]["framesDelivered"]


def test_a_file_in_place_of_the_folder_is_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    manifest = write(tmp_path, fleets.code(), fleets.fleet(train="unused:train"))
    refused = run(manifest, "--checkpoint", "file")
    assert refused.returncode == 64
    assert refused.stderr.splitlines()[0] == (
        "error: --checkpoint file: Not a directory; name a folder that can be read and written to"
    )
    assert (tmp_path / "file").read_text() == "mine"
