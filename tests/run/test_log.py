"""A run's numbers in TensorBoard's files and in a logger of TorchRL's, as they are read afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.e2e import fleets
from tests.manifests import changed
from tests.run.run_process import run, write


def logged(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows: values by name, with the frames that they stand at."""
    events = EventAccumulator(str(folder))
    events.Reload()
    return {name: [(one.step, one.value) for one in events.Scalars(name)] for name in events.Tags()["scalars"]}


def manifest(tmp_path: Path, log: dict[str, Any], batches: int = 4) -> Path:
    fleet = changed(fleets.fleet(kwargs={"batches": batches}), {"spec.driver.log": log})
    return write(tmp_path, fleets.code(), fleet)


def test_what_is_reported_is_in_tensorboard_by_frames_beside_the_fleets_own_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "tensorboard"
    done = run(manifest(tmp_path, {"tensorboard": str(folder), "everySeconds": 1}), "-o", "json")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert [path.name for path in folder.iterdir()] == ["fleet"]
    found = logged(folder / "fleet")
    ((name, newest),) = status["progress"]["metrics"].items()
    steps = [step for step, _ in found[name]]
    assert steps == [200, 400, 600, 800]
    assert found[name][-1][1] == pytest.approx(newest)
    assert found["collectorfleet/frames_delivered"][-1] == (800, 800.0)
    assert found["collectorfleet/weights_published_version"][-1][1] == status["weights"]["published"]


def test_a_logger_of_torchrl_by_its_class(tmp_path: Path) -> None:
    logger = {
        "factory": "torchrl.record.loggers.csv:CSVLogger",
        "kwargs": {"exp_name": "mine", "log_dir": str(tmp_path / "csv")},
    }
    done = run(manifest(tmp_path, {"logger": logger}))
    assert done.returncode == 0, done.stderr
    written = {path.stem: path.read_text().splitlines() for path in (tmp_path / "csv/mine/scalars").rglob("*.csv")}
    assert len(written["frames_delivered"]) >= 1


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        pytest.param(
            {"logger": {"factory": "torchrl.record.loggers.wandb:WandbLogger", "kwargs": {"exp_name": "mine"}}},
            "driver.log.logger torchrl.record.loggers.wandb:WandbLogger: ",
            id="not installed",
        ),
        pytest.param(
            {"logger": {"factory": "collections:OrderedDict"}},
            "driver.log.logger collections:OrderedDict: the factory returned an OrderedDict, which has "
            "no log_metrics(); return a torchrl.record.loggers.Logger",
            id="no logger",
        ),
        pytest.param(
            {"tensorboard": "/proc/1"},
            "driver.log.tensorboard: nothing can be written below /proc/1/fleet (No such file or directory); name a "
            "folder on a volume that driver.template mounts",
            id="nowhere to write",
        ),
    ],
)
def test_what_cannot_log_is_said_before_anything_is_collected(
    tmp_path: Path, log: dict[str, Any], sentence: str
) -> None:
    done = run(manifest(tmp_path, log))
    assert done.returncode == 64, done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert sentence in error
