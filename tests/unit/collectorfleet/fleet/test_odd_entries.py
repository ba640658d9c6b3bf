"""Entries of unusual shape or dtype reach the batches of a fleet as TorchRL's collector makes them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from tensordict import TensorDictBase
from tests import envs
from tests.in_process_fleet import fleet
from torchrl.collectors import Collector
from torchrl.data import Composite, Unbounded

FRAMES, BATCHES = 12, 3


class Odd(envs.Counting):
    """Has an entry ``odd`` of this shape and dtype, and a reward of this dtype."""

    def __init__(self, shape: tuple[int, ...] = (2,), dtype: Any = torch.float32, reward: Any = torch.float32) -> None:
        super().__init__(length=4)
        self._shape, self._dtype = shape, dtype
        self._reward = reward
        self.observation_spec = Composite(observation=Unbounded(shape=(3,)), odd=Unbounded(shape=shape, dtype=dtype))
        self.reward_spec = Unbounded(shape=(1,), dtype=reward)

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return super()._reset(tensordict, **kwargs).set("odd", self._odd(0))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        found = super()._step(tensordict)
        found["reward"] = found["reward"].to(self._reward)
        return found.set("odd", self._odd(self._count % 2))

    def _odd(self, value: int) -> torch.Tensor:
        return torch.tensor(value, dtype=self._dtype).expand(self._shape)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"shape": (0,)}, id="no numbers"),
        pytest.param({"shape": (2, 0)}, id="no numbers in two dimensions"),
        pytest.param({"dtype": torch.bfloat16}, id="bfloat16"),
        pytest.param({"dtype": torch.uint8}, id="bytes"),
        pytest.param({"reward": torch.bfloat16}, id="a reward of bfloat16"),
        pytest.param({"reward": torch.float64}, id="a reward of float64"),
        pytest.param({"reward": torch.int32}, id="a reward of whole numbers"),
    ],
)
def test_frames_are_torchrls_and_episodes_are_counted(given: dict[str, Any], compact: bool) -> None:
    make = partial(Odd, **given)
    alone = Collector(make, envs.make_policy(0.5), frames_per_batch=FRAMES, total_frames=FRAMES * BATCHES)
    theirs = [batch.clone() for batch in alone]
    options: dict[str, Any] = {"num_collectors": 1, "frames_per_batch": FRAMES, "total_frames": FRAMES * BATCHES}
    with fleet(make, envs.make_policy(0.5), **options, compact_observations=compact) as collector:
        ours = [batch.clone() for batch in collector]
        progress = collector.status().progress
    for theirs_, ours_ in zip(theirs, ours, strict=True):
        for key in theirs_.keys(True, True):
            left, right = theirs_[key], ours_[key]
            if key != ("collector", "traj_ids"):
                assert (left.dtype, left.shape) == (right.dtype, right.shape), key
                assert torch.equal(left, right), key
    assert (progress.episodes.ended, progress.episodes.return_mean) == (FRAMES * BATCHES // 4, 4.0)
