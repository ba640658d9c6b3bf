"""Weights of a run as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import nn

from collectorfleet.cli.exit_codes import ExitCode
from collectorfleet.cli.main import main
from collectorfleet.codec.snapshot import tensors_of
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.run.checkpoint.checkpoint_files import name_of
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.kept_from_collector import EVALUATION, KeptFromCollector
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position

BEST = EvaluationResult(
    version=15,
    frames=1500,
    returns=(80.0, 100.0, 120.0),
    lengths=(80, 100, 120),
    seconds=2.5,
    time=datetime(2026, 7, 1, 12, tzinfo=UTC),
)


class Tied(nn.Module):
    """Two layers share their weights, and a buffer is in no state dict."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(3, 3)
        self.decoder = nn.Linear(3, 3, bias=False)
        self.decoder.weight = self.encoder.weight
        self.register_buffer("cache", torch.zeros(5), persistent=False)


def filled(value: float) -> nn.Module:
    made = Tied()
    for parameter in made.parameters():
        nn.init.constant_(parameter, value)
    return made


def values(module: nn.Module) -> set[float]:
    """All values that its weights have."""
    return {value for tensor in module.state_dict().values() for value in tensor.flatten().tolist()}


def evaluation(best: EvaluationResult | None, weights: nn.Module | None) -> Mapping[str, Any]:
    """What a checkpoint has of it."""
    tensors = None if weights is None else tensors_of(weights)
    return {"finished": 3, "best": None if best is None else asdict(best), "best_weights": tensors}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run whose policy has the weights 2, and had the weights 1 when it was best."""
    return checkpointed(tmp_path / "run", evaluation(BEST, filled(1.0)))


def checkpointed(path: Path, kept: Mapping[str, Any], **objects: Any) -> Path:
    state, of_collector = TrainingState(), KeptFromCollector()
    of_collector.load_state_dict(kept)
    state.keep({EVALUATION: of_collector, **(objects or {"policy": filled(2.0)})})
    folder = CheckpointFolder(path, fleet="cheetah", run="run-1")
    folder.write(Position(frames=2000, batches=20, version=21), state.dumps())
    folder.close()
    return path


def test_the_best_weights_load_into_the_policy_and_say_where_they_are_from(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.pt"
    assert main(["export", str(run), "--best", "-o", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    found = torch.load(file, weights_only=True)
    policy = filled(0.0)
    policy.load_state_dict(found["state_dict"])
    assert values(policy) == {1.0}
    metadata = found["metadata"]
    assert {name: metadata[name] for name in ("version", "frames", "return_mean", "episodes", "time")} == {
        "version": "15",
        "frames": "1500",
        "return_mean": "100",
        "episodes": "3",
        "time": "2026-07-01T12:00:00+00:00",
    }
    assert metadata["return_standard_error"] == "11.547"
    assert metadata["torch"] == version("torch")
    assert metadata.keys() >= {"torchrl", "collectorfleet"}


def test_without_best_the_weights_are_those_of_the_newest_checkpoint(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.pt"
    assert main(["export", str(run), "-o", str(file)]) == 0
    found = torch.load(file, weights_only=True)
    policy = filled(0.0)
    policy.load_state_dict(found["state_dict"])
    assert values(policy) == {2.0}
    assert (found["metadata"]["version"], found["metadata"]["frames"]) == ("21", "2000")
    assert "return_mean" not in found["metadata"]


def test_safetensors_have_the_same_and_their_metadata_in_the_header(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.safetensors"
    assert main(["export", str(run), "--best", "-o", str(file)]) == 0
    with safe_open(file, "pt") as opened:
        assert opened.metadata()["version"] == "15"
        state = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (it is no dict)
    policy = filled(0.0)
    policy.load_state_dict(state)
    assert values(policy) == {1.0}


@pytest.mark.parametrize("name", ["policy.pt", "policy.safetensors"])
def test_others_may_read_the_file_as_the_umask_says_and_a_second_export_replaces_it(
    run: Path, tmp_path: Path, name: str
) -> None:
    before = os.umask(0o022)
    try:
        for _ in range(2):
            assert main(["export", str(run), "-o", str(tmp_path / name)]) == 0
    finally:
        os.umask(before)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o644
    assert sorted(one.name for one in tmp_path.iterdir()) == [name, "run"]


def test_a_run_that_goes_on_keeps_its_folder(run: Path, tmp_path: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*"))
    assert main(["export", str(run), "-o", str(tmp_path / "policy.pt")]) == 0
    assert sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*")) == before


def test_weights_of_a_script_are_as_it_published_them(tmp_path: Path) -> None:
    """It keeps another module than the one whose weights it publishes."""
    run = checkpointed(tmp_path / "run", evaluation(BEST, nn.Linear(2, 2)), policy=filled(2.0))
    assert main(["export", str(run), "--best", "-o", str(tmp_path / "policy.pt")]) == 0
    nn.Linear(2, 2).load_state_dict(torch.load(tmp_path / "policy.pt", weights_only=True)["state_dict"])


REFUSED = {
    "no checkpoint": (
        lambda folder: folder.mkdir(),
        "has no checkpoint; wait for the first checkpoint, or name the folder of `collectorfleet run --checkpoint`",
    ),
    "no evaluation": (
        lambda folder: checkpointed(folder, {}),
        f"{name_of(1)} has no evaluation; set spec.evaluation with keepBest: true, or export without --best",
    ),
    "no result": (
        lambda folder: checkpointed(folder, evaluation(None, None)),
        f"{name_of(1)}; try again after the next checkpoint, or export without --best",
    ),
    "weights are not kept": (
        lambda folder: checkpointed(folder, evaluation(BEST, None)),
        f"{name_of(1)} has no evaluated weights; set evaluation.keepBest: true, or export without --best",
    ),
    "no folder": (
        lambda folder: None,
        "run is not a folder; name a fleet on a cluster, or the folder of `collectorfleet run --checkpoint`",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_has_no_best_weights_is_said_in_a_sentence(
    why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, sentence = REFUSED[why]
    make(tmp_path / "run")
    assert main(["export", str(tmp_path / "run"), "--best", "-o", str(tmp_path / "policy.pt")]) == ExitCode.USER
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert sentence in said
    assert not (tmp_path / "policy.pt").exists()


def test_a_run_without_a_policy_says_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = checkpointed(tmp_path / "run", {}, critic=nn.Linear(1, 1))
    assert main(["export", str(run), "-o", str(tmp_path / "policy.pt")]) == ExitCode.USER
    assert f"has no weights of a policy; it has {EVALUATION}, critic" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
    run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpointed(run, {}, policy=filled(3.0))
    (run / name_of(2) / "state.pt").write_bytes(b"torn")
    assert main(["export", str(run), "-o", str(tmp_path / "policy.pt")]) == 0
    found = torch.load(tmp_path / "policy.pt", weights_only=True)["state_dict"]
    assert float(found["encoder.weight"].mean()) == 2.0
    assert f"{name_of(2)} in {run} cannot be read and is skipped" in caplog.text


@pytest.mark.parametrize("name", ["policy.pt", "policy.safetensors"])
def test_a_file_that_cannot_be_written_is_said_in_a_sentence(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = tmp_path / "nowhere" / name
    assert main(["export", str(run), "-o", str(file)]) == ExitCode.USER
    assert capsys.readouterr().err == f"error: {file}: No such file or directory\n"


def test_another_format_is_refused_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["export", "nowhere", "-o", "policy.onnx"])
    assert ended.value.code == ExitCode.USAGE
    assert "'policy.onnx' has no known format; choose a name with .pt or .safetensors" in capsys.readouterr().err


def test_a_name_that_is_too_long_is_a_wrong_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = f"{tmp_path}/{'a' * 300}"
    assert main(["export", long, "-o", str(tmp_path / "policy.pt")]) == ExitCode.USER
    assert long in capsys.readouterr().err
