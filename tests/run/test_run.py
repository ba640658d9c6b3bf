"""``collectorfleet run``: a cluster's manifest on this machine, from the first line to the exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tensordict import TensorDict
from tests.cluster.binaries import ROOT
from tests.e2e import fleets
from tests.ports import reserve_ports
from tests.run.run_process import run, start, write
from tests.wait import eventually

from collectorfleet.run.metrics.families import families
from collectorfleet_api.v1alpha1 import DriverReport

EXAMPLE = ROOT / "examples/cartpole.yaml"

# Trains, waits until all that was published is acknowledged, and scrapes the metrics of its own driver.
SCRAPE = """
import urllib.request

import workload


def train(collector, run, batches, url, file):
    workload.train(collector, run, batches=batches)
    collector.update_policy_weights_(wait=True)
    with open(file, "wb") as out:
        out.write(urllib.request.urlopen(url, timeout=60).read())
"""


def example(**train: Any) -> list[dict[str, Any]]:
    """The example's objects, with other arguments of its training function."""
    fleet, code = yaml.safe_load_all(EXAMPLE.read_text())
    fleet["spec"]["driver"]["train"]["kwargs"] = train
    return [fleet, code]


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}


def test_the_example_learns_and_ends_with_its_status_alone_on_stdout(tmp_path: Path) -> None:
    done = run(write(tmp_path, *example(goal=60)), "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert status["phase"] == "Completed"
    assert conditions(status)["Ready"] == ("True", "Completed")
    assert conditions(status)["Completed"] == ("True", "Completed")
    assert status["progress"]["metrics"]["reward"] >= 60
    assert status["progress"]["framesDelivered"] == status["progress"]["batches"] * 2048
    assert status["progress"]["collectors"]["summary"] == "2/2"
    assert 1 <= status["weights"]["published"] <= status["progress"]["batches"]
    assert status["weights"]["staleness"]["max"] <= 1
    assert [row["name"] for row in status["collectors"]] == ["c0", "c1"]
    assert "completed: cartpole:train returned after" in done.stderr


def test_code_of_the_image_is_found_beside_the_manifest_and_progress_is_plain_lines(tmp_path: Path) -> None:
    fleet, _ = example(goal=60)
    del fleet["spec"]["code"]
    (tmp_path / "cartpole.py").write_text((ROOT / "examples/cartpole/cartpole.py").read_text())
    done = run(write(tmp_path, fleet))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    first, *lines, last = done.stdout.splitlines()
    assert first == "fleet cartpole: starting, 2 collectors on this machine"
    assert last.startswith("completed: cartpole:train returned after")
    assert lines
    for line in lines:
        # A slow machine has a line before the first publish.
        sentence = r"\d+ s  frames [\d,]+ of 1,000,000  .* frames/s  weights (\d+|-) .*collectors \d/2"
        assert re.match(sentence, line), line


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(
            {"environment": "no_such_module:make_env"},
            "ModuleNotFoundError: No module named 'no_such_module'",
            id="import",
        ),
        pytest.param(
            {"environment": "workload:broken_env"},
            "ValueError: no such game: Pong on the moon",
            id="environment",
            marks=pytest.mark.variant_of(
                "tests/e2e/test_bad_input.py::test_an_error_of_the_users_code_fails_the_fleet_once_with_its_own_words"
            ),
        ),
        pytest.param({"train": "workload:train_fails"}, "RuntimeError: loss is NaN at batch 3", id="train"),
    ],
)
def test_an_error_of_the_users_code_is_one_sentence_with_its_own_words(
    tmp_path: Path, short_tmp: Path, change: dict[str, str], sentence: str
) -> None:
    done = run(write(tmp_path, fleets.code(), fleets.fleet(**change)), "-o", "json", TMPDIR=str(short_tmp))  # type: ignore[arg-type]
    assert done.returncode == 64
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert error.endswith(sentence)
    assert "Traceback" not in done.stderr
    status = json.loads(done.stdout)
    assert status["phase"] == "Failed"
    assert conditions(status)["Stalled"] == ("True", "Failed")
    messages = {c["message"] for c in status["conditions"] if c["type"] in ("Ready", "Stalled", "Completed")}
    assert messages == {error.removeprefix("error: ")}
    # The traceback is where the message says.
    (log,) = re.findall(r"The traceback is in (\S+)\.", done.stderr)
    assert sentence in Path(log).read_text()
    assert "Traceback" in Path(log).read_text()


@pytest.mark.parametrize(
    ("send", "number", "cause"),
    [
        # As a terminal does it: every process of the group gets the signal.
        pytest.param(os.killpg, signal.SIGINT, "Ctrl-C", id="Ctrl-C"),
        pytest.param(os.kill, signal.SIGTERM, "SIGTERM", id="SIGTERM"),
    ],
)
def test_a_signal_ends_a_run_with_its_status_and_leaves_no_process_and_no_file(
    send: Callable[[int, int], None], number: int, cause: str, tmp_path: Path, short_tmp: Path
) -> None:
    file = write(tmp_path, fleets.code(), fleets.fleet(mode="Async", replicas=2))
    process = start(file, "-o", "json", TMPDIR=str(short_tmp))
    assert process.stderr
    for line in process.stderr:
        if re.search(r" frames [1-9]", line):
            break
    else:
        pytest.fail("the run ended without a batch")
    words = ["pgrep", "-f", f"{short_tmp}/cfleet-"]

    def processes() -> str:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    assert processes()
    assert len(list(short_tmp.iterdir())) == 1
    send(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert f"stopped: {cause}" in err
    assert "error" not in err
    status = json.loads(out)
    assert status["progress"]["batches"] > 0
    assert conditions(status)["Completed"] == ("False", "Interrupted")
    assert "phase" not in status
    assert list(short_tmp.iterdir()) == []
    # A worker of Ray ends with its raylet, which a busy machine may notice after the end of the run.
    eventually(processes, until=lambda left: not left, within=30, what="no process")


def test_a_fleet_that_was_scaled_to_a_number_that_does_not_divide_its_batch_runs(tmp_path: Path) -> None:
    fleet = fleets.fleet(replicas=3, frames=200, kwargs={"batches": 3})
    # As the API server stores it: whether a batch divides is asked when a fleet is created, not when it is scaled.
    fleet["metadata"]["uid"] = "0a1b"
    done = run(write(tmp_path, fleets.code(), fleet), "-o", "json")
    assert done.returncode == 0, done.stderr
    progress = json.loads(done.stdout)["progress"]
    assert (progress["batches"], progress["framesDelivered"]) == (3, 600)
    assert progress["collectors"]["desired"] == 3


def test_metrics_say_what_the_status_says(tmp_path: Path) -> None:
    (port,) = reserve_ports(1)
    scraped = tmp_path / "metrics.txt"
    kwargs = {"batches": 4, "url": f"http://127.0.0.1:{port}/metrics", "file": str(scraped)}
    fleet = fleets.fleet(replicas=2, train="scrape:train", kwargs=kwargs)
    (tmp_path / "scrape.py").write_text(SCRAPE)
    done = run(write(tmp_path, fleets.code(), fleet), "-o", "json", "--metrics-port", str(port))
    assert done.returncode == 0, done.stderr
    status = DriverReport.from_wire(json.loads(done.stdout), ignore_unknown=True)

    said = text_string_to_metric_families(scraped.read_text())
    found = {(s.name, s.labels.get("name")): s.value for family in said for s in family.samples}
    expected = {(s.name, s.labels.get("name")): s.value for family in families("fleet", status) for s in family.samples}
    assert found.keys() == expected.keys()
    assert found["collectorfleet_batches_total", None] == 4
    assert found["collectorfleet_reported", "batch"] == 4
    # Rates are over a time, which goes on between the scrape and the end.
    moving = {name for name in found if re.search("per_second|ratio|throttled", name[0])}
    assert {name: found[name] for name in found.keys() - moving} == {
        name: expected[name] for name in found.keys() - moving
    }


def test_a_fleet_without_a_policy_acts_at_random(tmp_path: Path) -> None:
    fleet = fleets.fleet(mode="Sync", replicas=2, frames=200)
    del fleet["spec"]["driver"]["train"], fleet["spec"]["policy"]
    fleet["spec"]["collection"]["totalFrames"] = 400
    fleet["spec"]["output"] = {"path": str(tmp_path / "rollouts")}
    file = write(tmp_path, fleets.code(), fleet)
    done = run(file)
    assert done.returncode == 0, done.stderr
    assert "spec.policy: not set, so collectors act at random" in done.stderr
    rollouts = [TensorDict.load_memmap(shard) for shard in (tmp_path / "rollouts").glob("shard-*")]
    assert sum(shard.numel() for shard in rollouts) == 400
    actions = torch.cat([shard["action"].reshape(400 // len(rollouts), -1) for shard in rollouts]).double()
    assert actions.std(0).min() > 0


def test_a_fleet_without_training_writes_its_frames_to_files_that_read_back(tmp_path: Path) -> None:
    fleet = fleets.fleet(mode="Async", replicas=2, frames=200)
    del fleet["spec"]["driver"]["train"]
    fleet["spec"]["collection"]["totalFrames"] = 1000
    fleet["spec"]["output"] = {"path": str(tmp_path / "rollouts")}
    # In the same folder: what the run itself puts there is no reason to refuse it.
    fleet["spec"]["driver"]["log"] = {"tensorboard": str(tmp_path / "rollouts/tensorboard")}
    file = write(tmp_path, fleets.code(), fleet)
    done = run(file)
    assert done.returncode == 0, done.stderr

    manifest = json.loads((tmp_path / "rollouts/manifest.json").read_text())
    assert (manifest["format"], manifest["fleet"], manifest["frames"]) == ("TensorDict", "fleet", 1000)
    shards = [TensorDict.load_memmap(tmp_path / "rollouts" / shard["name"]) for shard in manifest["shards"]]
    assert sum(shard.numel() for shard in shards) == 1000
    rollouts = torch.cat([shard.reshape(-1) for shard in shards])
    assert rollouts["observation"].shape == (1000, 4)
    assert rollouts["observation"].isfinite().all()
    assert (rollouts["collector", "weights_version"] == 1).all()

    again = run(file)
    assert again.returncode == 64
    assert "it has 1000 frames of another run of fleet fleet; use an empty folder" in again.stderr


def test_a_postproc_that_leaves_out_what_an_output_needs_ends_the_run(tmp_path: Path) -> None:
    fleet = fleets.fleet(mode="Sync", replicas=1, frames=200)
    del fleet["spec"]["driver"]["train"], fleet["spec"]["policy"]
    fleet["spec"]["collection"]["totalFrames"] = 200
    fleet["spec"]["collection"]["postproc"] = {"factory": "post:make"}
    fleet["spec"]["output"] = {"path": str(tmp_path / "rollouts")}
    code = fleets.code()
    code["data"]["post.py"] = "def make():\n    return lambda batch: batch.select('observation')\n"
    done = run(write(tmp_path, code, fleet))
    assert done.returncode == 64
    assert "collection.postproc: its batch has no entry ('collector', 'weights_version'); keep" in done.stderr
