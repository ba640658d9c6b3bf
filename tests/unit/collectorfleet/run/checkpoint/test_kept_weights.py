"""The weights in a checkpoint: of the policy, or the best that were evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from collectorfleet.codec.snapshot import tensors_of
from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.run.checkpoint import kept_weights
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.kept_from_collector import EVALUATION, KeptFromCollector
from collectorfleet.run.checkpoint.kept_weights import best_weights, newest_weights
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position

BEST = EvaluationResult(
    version=15,
    frames=1500,
    returns=(80.0, 100.0, 120.0),
    lengths=(8, 9, 10),
    seconds=2.5,
    time=datetime(2026, 7, 1, tzinfo=UTC),
)


def filled(value: float) -> nn.Module:
    """A policy of two layers that share their weights, with a buffer that is in no state dict."""
    made = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    made[1].weight = made[0].weight
    nn.init.constant_(made[0].weight, value)
    made.register_buffer("cache", torch.zeros(5), persistent=False)
    return made


def checkpointed(path: Path, kept: Mapping[str, Any] | None, **objects: Any) -> Path:
    state, of_collector = TrainingState(), KeptFromCollector()
    of_collector.load_state_dict(kept or {})
    state.keep({EVALUATION: of_collector, **objects})
    write(path, 21, state.dumps())
    return path


def write(path: Path, version: int, state: memoryview) -> None:
    folder = CheckpointFolder(path, fleet="cheetah", run="run-1")
    folder.write(Position(frames=2000, batches=20, version=version), state)
    folder.close()


def evaluation(best: EvaluationResult | None, weights: nn.Module | None) -> Mapping[str, Any]:
    tensors = None if weights is None else tensors_of(weights)
    return {"finished": 3, "best": None if best is None else asdict(best), "best_weights": tensors}


def test_the_newest_weights_are_those_of_the_policy_with_the_progress_of_the_checkpoint(tmp_path: Path) -> None:
    found = newest_weights(checkpointed(tmp_path, None, policy=filled(2.0)))
    assert {name: tensor.unique().tolist() for name, tensor in found.tensors.items()} == {
        "0.weight": [2.0],
        "1.weight": [2.0],
    }
    assert found.metadata == {"version": "21", "frames": "2000"}


def test_the_best_weights_have_each_name_of_the_policy_and_where_they_are_from(tmp_path: Path) -> None:
    found = best_weights(checkpointed(tmp_path, evaluation(BEST, filled(1.0)), policy=filled(2.0)))
    assert {name: tensor.unique().tolist() for name, tensor in found.tensors.items()} == {
        "0.weight": [1.0],
        "1.weight": [1.0],
    }
    assert found.metadata == {
        "version": "15",
        "frames": "1500",
        "return_mean": "100",
        "return_standard_error": "11.547",
        "episodes": "3",
        "time": "2026-07-01T00:00:00+00:00",
    }


def test_the_best_of_single_episodes_has_no_standard_error(tmp_path: Path) -> None:
    single = EvaluationResult(**{**asdict(BEST), "returns": (80.0,), "lengths": (8,)})
    found = best_weights(checkpointed(tmp_path, evaluation(single, filled(1.0)), policy=filled(2.0)))
    assert found.metadata.keys() == {"version", "frames", "return_mean", "episodes", "time"}


def test_weights_of_another_module_than_the_policy_keep_their_names(tmp_path: Path) -> None:
    for policy in (nn.Linear(3, 3), None):
        run = checkpointed(
            tmp_path / str(policy), evaluation(BEST, filled(1.0)), **({"policy": policy} if policy else {})
        )
        assert best_weights(run).tensors.keys() == {"0.weight", "cache"}


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (None, "has no evaluation; set spec.evaluation with keepBest: true, or export without --best"),
        (evaluation(None, None), "no evaluation had finished at "),
        (evaluation(BEST, None), "has no evaluated weights; set evaluation.keepBest: true, or export without --best"),
    ],
    ids=["no evaluation", "none that finished", "no weights"],
)
def test_a_checkpoint_without_evaluated_weights_says_what_to_do(
    tmp_path: Path, kept: Mapping[str, Any] | None, said: str
) -> None:
    run = checkpointed(tmp_path, kept, policy=filled(2.0))
    with pytest.raises(InvalidOption, match=said):
        best_weights(run)


@pytest.mark.parametrize("policy", [None, {"epoch": 3}, [1.0]], ids=["no policy", "no tensors", "no state dict"])
def test_a_checkpoint_without_a_policy_says_what_it_has(tmp_path: Path, policy: Any) -> None:
    run = checkpointed(tmp_path, None, **({} if policy is None else {"policy": policy}), critic={})
    with pytest.raises(InvalidOption, match=r"/checkpoint-000001 has no weights of a policy; it has collector\.eval"):
        newest_weights(run)


def test_a_folder_without_a_checkpoint_or_with_another_file_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="has no checkpoint; wait for the first checkpoint, or name the folder of"):
        newest_weights(tmp_path)
    CheckpointFolder(tmp_path, fleet="cheetah", run="run-1").write(Position(), b"of another program")
    with pytest.raises(InvalidOption, match=f"^{tmp_path}/checkpoint-000001/state.pt: "):
        newest_weights(tmp_path)


def test_a_checkpoint_that_the_run_removes_before_its_state_is_read_is_followed_by_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpointed(tmp_path, None, policy=filled(2.0))
    read = kept_weights.read_state

    def read_late(file: Path) -> Mapping[str, Any]:
        monkeypatch.undo()
        state = TrainingState()
        state.keep({"policy": filled(3.0)})
        for version in (22, 23):
            write(tmp_path, version, state.dumps())
        return read(file)

    monkeypatch.setattr(kept_weights, "read_state", read_late)
    found = newest_weights(tmp_path)
    assert found.metadata["version"] == "23"
    assert found.tensors["0.weight"].unique().tolist() == [3.0]
