"""Statistics of environments arrive as they were sent, and are put back as they were kept."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

from collectorfleet.codec import normalization
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.normalization import RunningStatistics

SENT = {
    "env:observation": RunningStatistics(0.9, 7, {"sum": np.array([1.5, -2.0]), "square": np.array([[3.0], [4.0]])}),
    "reward": RunningStatistics(0.5, 2, {"sum": np.array(6.0)}),
}


def plain(found: dict[str, RunningStatistics]) -> dict[str, tuple[float, int, dict[str, list[float]]]]:
    return {
        name: (one.decay, one.updates, {part: value.tolist() for part, value in one.sums.items()})
        for name, one in found.items()
    }


def test_counts_and_sums_arrive_and_decays_are_the_collectors_own() -> None:
    arrived = normalization.decode(normalization.encode(SENT))
    wanted = {name: RunningStatistics(1.0, one.updates, one.sums) for name, one in SENT.items()}
    assert plain(arrived) == plain(wanted)
    assert arrived["env:observation"].sums["square"].shape == (2, 1)


def test_what_arrives_is_not_changed_by_what_is_sent_later() -> None:
    changing = {"reward": RunningStatistics(0.5, 2, {"sum": np.array([6.0])})}
    sent = normalization.encode(changing)
    changing["reward"].sums["sum"][0] = 9.0
    assert normalization.decode(sent)["reward"].sums["sum"].tolist() == [6.0]


def test_an_array_without_its_entry_is_an_error() -> None:
    sent = normalization.encode(SENT)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        normalization.decode(Snapshot(sent.entries, sent.arrays[:-1]))


def test_a_state_is_the_same_after_torch_has_saved_and_loaded_it() -> None:
    file = io.BytesIO()
    torch.save(normalization.to_state(SENT), file)
    file.seek(0)
    assert plain(normalization.from_state(torch.load(file, weights_only=True))) == plain(SENT)


def test_a_state_has_tensors_of_its_own() -> None:
    one = {"reward": RunningStatistics(0.5, 2, {"sum": np.array([6.0])})}
    state = normalization.to_state(one)
    one["reward"].sums["sum"][0] = 9.0
    assert plain(normalization.from_state(state)) == {"reward": (0.5, 2, {"sum": [6.0]})}


@pytest.mark.parametrize("missing", ["decay", "updates", "sums"])
def test_what_is_no_state_is_an_error(missing: str) -> None:
    state = normalization.to_state(SENT)
    del state["reward"][missing]
    with pytest.raises(KeyError, match=missing):
        normalization.from_state(state)
