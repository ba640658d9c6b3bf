"""The benchmark of faults would see stale, mislabelled and repeated frames."""

from __future__ import annotations

import pytest
import torch
from benchmarks.faults.ledger import TRAJECTORY, VERSION, Ledger
from tensordict import TensorDict


def batch(made_by: list[float], *, labels: list[int] | None = None, steps: list[int] | None = None) -> TensorDict:
    """Frames whose rewards are twice the weights that made them."""
    frames = len(made_by)
    found = TensorDict(
        {"next": {"reward": 2 * torch.tensor(made_by)[:, None], "observation": torch.zeros(frames, 3)}}, [frames]
    )
    if labels is not None:
        found[VERSION] = torch.tensor(labels)
        found[TRAJECTORY] = torch.zeros(frames, dtype=torch.int64)
        found["next", "observation"] = torch.tensor(steps or range(frames))[:, None].expand(-1, 3).to(torch.float32)
    return found


@pytest.mark.parametrize(
    ("bound", "stale"),
    [pytest.param(0, 2, id="on-policy"), pytest.param(1, 1, id="one behind"), pytest.param(2, 0, id="two")],
)
def test_a_frame_is_stale_when_its_weights_are_older_than_the_bound(bound: int, stale: int) -> None:
    ledger = Ledger(bound)
    ledger.take(batch([5, 4, 3]), newest=5)
    assert (ledger.batches, ledger.frames, ledger.stale) == (1, 3, stale)


def test_a_label_that_differs_from_the_weights_is_counted() -> None:
    ledger = Ledger(bound=1)
    ledger.take(batch([5, 4], labels=[5, 5]), newest=5)
    assert (ledger.mislabelled, ledger.stale, ledger.twice) == (1, 0, 0)


def test_a_frame_that_comes_again_is_counted_in_one_batch_and_over_batches() -> None:
    ledger = Ledger(bound=1)
    ledger.take(batch([1, 1, 1], labels=[1, 1, 1], steps=[1, 2, 2]), newest=1)
    assert ledger.twice == 1
    ledger.take(batch([1, 1], labels=[1, 1], steps=[2, 3]), newest=1)
    assert ledger.twice == 2
