"""What a later run takes from the evaluation of an earlier one."""

from __future__ import annotations

from typing import Any

import torch
from tests.unit.collectorfleet.evaluation.evaluated import Evaluated, candidate, plan

from collectorfleet.codec.snapshot import tensors_by_name
from collectorfleet.evaluation.loop import EvaluationLoop

WEIGHTS = {"module.value": torch.tensor(3.0)}


def kept(value: float, weights: dict[str, torch.Tensor] | None) -> dict[str, Any]:
    state = Evaluated()
    state.due(candidate(1))
    state.play(value)
    return {**state.kept(), "best_weights": weights}


def later(state: dict[str, Any], *, keeps_best: bool) -> EvaluationLoop:
    untouched: Any = None  # nothing starts
    loop = EvaluationLoop(untouched, untouched, plan(), restarts_environments=False, keeps_best=keeps_best)
    loop.load_state_dict(state)
    return loop


def test_the_best_weights_of_an_earlier_run_are_there_again() -> None:
    loop = later(kept(3.0, WEIGHTS), keeps_best=True)
    assert loop.best is not None
    result, snapshot = loop.best
    assert result == loop.state.best
    assert tensors_by_name(snapshot) == WEIGHTS
    assert loop.state_dict()["best_weights"] == WEIGHTS


def test_a_best_without_weights_gives_its_place_to_one_that_has_some() -> None:
    """Or it would have the place for as long as no version is better, and nobody could export it."""
    loop = later(kept(3.0, None), keeps_best=True)
    assert (loop.best, loop.state.best, loop.state.finished) == (None, None, 1)


def test_a_run_that_keeps_no_weights_knows_the_best_result_all_the_same() -> None:
    loop = later(kept(3.0, WEIGHTS), keeps_best=False)
    assert loop.best is None
    assert loop.state.best is not None
