"""What a run leaves of its evaluation, and what a later run takes from it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.stored import stored
from tests.unit.collectorfleet.evaluation.evaluated import Evaluated, candidate, plan

from collectorfleet.codec.snapshot import tensors_by_name
from collectorfleet.evaluation.loop import EvaluationLoop
from collectorfleet.messages import Weights

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


class Waiting:
    """A transport without evaluators, which calls a function while the loop waits for messages."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile

    def wait(self, _seconds: float) -> list[Any]:
        self._meanwhile()
        return []

    def wake(self) -> None: ...


@pytest.mark.parametrize("closed", [False, True])
def test_a_result_after_the_end_of_the_loop_is_not_taken(closed: bool) -> None:
    """The last checkpoint may be written by then, and the status would name a result that no checkpoint has."""
    transport: Any = Waiting(lambda: loop.close() if closed else None)
    shared: Any = SimpleNamespace(
        changed=threading.Condition(),
        normalization=SimpleNamespace(reported_by=None),
        gather=SimpleNamespace(finished=False),
        note_change=lambda **_: None,
    )
    loop = EvaluationLoop(shared, transport, plan(), restarts_environments=False, clock=lambda: 0.0)
    loop.state = state = Evaluated()
    state.due(candidate(1))
    while plays := state.sent():
        for play in plays:
            if play.weights is not None:
                assert state.loads(play.evaluator, play.weights.version)
            state.answers(play)
    loop.turn()
    assert state.finished == (not closed)
    assert len(loop.results) == (not closed)


class Failing:
    """A transport that raises while the loop waits for messages."""

    def start(self, _evaluator: Any) -> None: ...

    def wait(self, _seconds: float) -> list[Any]:
        raise RuntimeError("the transport is broken")

    def wake(self) -> None: ...

    def close(self) -> None: ...


def test_after_the_thread_has_failed_the_weights_of_older_versions_are_freed() -> None:
    transport: Any = Failing()
    shared: Any = SimpleNamespace(changed=threading.Condition(), normalization=SimpleNamespace(reported_by=None))
    shared.over = False
    loop = EvaluationLoop(shared, transport, plan(), restarts_environments=False)
    loop.start()
    loop.join(60)
    handles = [torch.zeros(1) for _ in range(3)]
    kept = [weakref.ref(handle) for handle in handles]
    for version in (1, 2, 3):
        loop.published(Weights(version, stored(f"digest {version}", 8, handles.pop(0))), frames=0)
    assert [one() is not None for one in kept] == [False, False, True]
