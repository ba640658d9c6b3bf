"""The numbers of an evaluation, against numpy's."""

from __future__ import annotations

from datetime import UTC, datetime

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests.example_count import examples

from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.messages import Episodes

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50)


def result(*returns: float) -> EvaluationResult:
    return EvaluationResult(7, 100, returns, tuple(range(1, len(returns) + 1)), 1.0, NOW)


@given(NUMBERS)
@settings(max_examples=examples(40))
def test_mean_standard_error_and_quartiles_are_those_of_numpy(returns: list[float]) -> None:
    found, array = result(*returns), np.array(returns)
    assert found.mean == pytest.approx(array.mean(), abs=1e-9, rel=1e-9)
    assert found.standard_error == pytest.approx(array.std(ddof=1) / np.sqrt(len(array)), abs=1e-6, rel=1e-9)
    assert found.quartiles == pytest.approx(tuple(np.quantile(array, [0.25, 0.5, 0.75])), abs=1e-6, rel=1e-9)
    assert found.length_mean == pytest.approx(np.mean(found.lengths))


def test_one_episode_has_no_standard_error() -> None:
    found = result(3.0)
    assert found.standard_error is None
    assert found.quartiles == (3.0, 3.0, 3.0)


def test_only_the_first_episodes_count() -> None:
    rollouts = [Episodes((1.0, 2.0), (5, 6)), Episodes((3.0, 4.0), (7, 8))]
    found = EvaluationResult.of(2, 30, rollouts, 3, 0.5, NOW)
    assert (found.returns, found.lengths) == ((1.0, 2.0, 3.0), (5, 6, 7))
    assert (found.version, found.frames, found.seconds, found.time) == (2, 30, 0.5, NOW)
