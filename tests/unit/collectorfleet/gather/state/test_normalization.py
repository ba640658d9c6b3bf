"""What the environments of all collectors have seen, and environments that differ."""

from __future__ import annotations

import numpy as np
import pytest

from collectorfleet.gather.state.normalization import FleetNormalization
from collectorfleet.normalization import RunningStatistics

KEY, OTHER = "0.VecNormV2.observation", "1.VecNormV2.reward"


def running(value: float = 1.0, *, decay: float = 0.5, size: int = 2, updates: int = 1) -> RunningStatistics:
    return RunningStatistics(decay, updates, {"sum": np.full(size, value)})


def value(state: FleetNormalization, name: str = KEY) -> float:
    return float(state.now[name].sums["sum"][0])


def test_the_first_collector_that_is_built_says_where_the_sums_begin() -> None:
    state = FleetNormalization()
    assert state.reported("c0", {KEY: running(3.0)}) == []
    assert state.reported("c1", {KEY: running(9.0)}) == []
    assert (state.reported_by, state.changes, value(state)) == ("c0", 1, 3.0)


def test_each_answer_adds_what_was_seen_for_it() -> None:
    state = FleetNormalization()
    state.reported("c0", {KEY: running(4.0)})
    state.merge({KEY: running(1.0)})
    state.merge({KEY: running(1.0, updates=2)})
    assert (state.changes, value(state)) == (3, (4.0 * 0.5 + 1.0) * 0.25 + 1.0)


@pytest.mark.parametrize("is_built", [False, True])
def test_a_saved_state_goes_on_where_environments_have_it_and_the_others_are_named(is_built: bool) -> None:
    state, saved = FleetNormalization(), {KEY: running(7.0), OTHER: running(8.0), "gone": running()}
    found = {KEY: running(1.0), "new": running(2.0)}
    if is_built:
        assert state.reported("c0", found) == []
        assert state.restored(saved) == sorted([OTHER, "gone"])
    else:
        assert state.restored(saved) == []
        assert value(state) == 7.0
        assert state.reported("c0", found) == sorted([OTHER, "gone"])
    assert state.changes == 2
    assert {name: value(state, name) for name in state.now} == {KEY: 7.0, "new": 2.0}


@pytest.mark.parametrize(
    ("other", "here"),
    [
        (running(size=3), "decay 0.5, sum [3]"),
        (running(decay=0.25), "decay 0.25, sum [2]"),
        (RunningStatistics(0.5, 1, {"sum": np.zeros(2), "count": np.zeros(())}), "decay 0.5, count [], sum [2]"),
    ],
    ids=["another shape", "another decay", "other sums"],
)
def test_an_environment_that_normalizes_otherwise_is_refused_with_both(other: RunningStatistics, here: str) -> None:
    state = FleetNormalization()
    state.reported("c0", {KEY: running()})
    with pytest.raises(ValueError, match=KEY) as refused:
        state.reported("c1", {KEY: other})
    assert str(refused.value) == (
        f"{KEY}: this environment has {here}, but c0 has decay 0.5, sum [2]; give all environments the same "
        "transforms, because collectors share one normalization"
    )


@pytest.mark.parametrize(
    ("found", "name", "having", "lacking"),
    [
        pytest.param({}, KEY, "the environment of c0", "this environment", id="lacks one"),
        pytest.param(
            {KEY: running(), OTHER: running()}, OTHER, "this environment", "the environment of c0", id="has one more"
        ),
    ],
)
def test_an_environment_with_other_transforms_is_refused_by_name(
    found: dict[str, RunningStatistics], name: str, having: str, lacking: str
) -> None:
    state = FleetNormalization()
    state.reported("c0", {KEY: running()})
    with pytest.raises(ValueError, match=name) as refused:
        state.reported("c1", found)
    assert str(refused.value) == (
        f"{name}: {having} has these statistics, but {lacking} does not; give all environments the same transforms, "
        "because collectors share one normalization"
    )


@pytest.mark.parametrize("is_built", [False, True])
def test_a_saved_state_of_another_shape_is_refused_with_what_to_do(is_built: bool) -> None:
    state = FleetNormalization()
    if is_built:
        state.reported("c0", {KEY: running(size=3)})
        with pytest.raises(ValueError, match=KEY) as refused:
            state.restored({KEY: running()})
    else:
        state.restored({KEY: running()})
        with pytest.raises(ValueError, match=KEY) as refused:
            state.reported("c0", {KEY: running(size=3)})
    shapes = sorted(["decay 0.5, sum [3]", "decay 0.5, sum [2]"])
    assert all(shape in str(refused.value) for shape in shapes)
    assert ", but the saved state has decay 0.5, sum [" in str(refused.value)
    assert str(refused.value).endswith(
        "]; give the environment the transforms that it had when the state was saved, or start without the state"
    )
