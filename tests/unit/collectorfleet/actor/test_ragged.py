"""Observations of varying size: batches are lazy stacks, as TorchRL's collector makes them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import LazyStackedTensorDict, TensorDictBase
from tests import envs
from torchrl.collectors import Collector
from torchrl.data import Composite, Unbounded

from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.server import CollectorServer
from collectorfleet.codec.frames import VERSION_KEY, Part
from collectorfleet.fleet.assemble import assemble
from collectorfleet.fleet.pool import BufferPool
from collectorfleet.messages import Answer, CollectorId, Request


class Varying(envs.Counting):
    """Observes 2 to 4 numbers, and 1 after a reset."""

    def __init__(self) -> None:
        super().__init__(length=4)
        self.observation_spec = Composite(observation=Unbounded(shape=(-1,)))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return super()._step(tensordict).set("observation", torch.full((2 + self._count % 3,), float(self._steps)))

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        return super()._reset(tensordict, **kwargs).set("observation", torch.zeros(1))


def answers(loop: RolloutLoop, count: int, **config: Any) -> list[Part]:
    server = CollectorServer(
        CollectorId("c0", 1), CollectorConfig(Varying, envs.make_policy(0.5), 6, rollout=loop, **config)
    )
    server.build(0, seed_environment=False)
    said = [server.run(Request(number, 6, 0)) for number in range(count)]
    assert all(isinstance(one, Answer) for one in said), said
    return [one.payload for one in said if isinstance(one, Answer)]


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("loop", [RolloutLoop.AUTO, RolloutLoop.TORCHRL])
def test_frames_of_varying_size_are_torchrls(loop: RolloutLoop, stacked: bool, copy: bool, compact: bool) -> None:
    parts = answers(loop, 2, compact_observations=compact)
    theirs = [batch.clone() for batch in Collector(Varying, envs.make_policy(0.5), frames_per_batch=6, total_frames=12)]
    for round_ in range(1 if stacked else 2):
        given = parts if stacked else parts[round_ : round_ + 1]
        batch = assemble(given, stacked=stacked, pool=BufferPool(), copy=copy)
        assert isinstance(batch, LazyStackedTensorDict)
        assert batch.names[-1] == "time"
        assert (batch[VERSION_KEY] == 0).all()
        expected = theirs if stacked else theirs[round_ : round_ + 1]
        for ours, its in zip(batch.unbind(0) if stacked else [batch], expected, strict=True):
            assert ours.batch_size == its.batch_size
            for frame, same in zip(ours.unbind(0), its.unbind(0), strict=True):
                assert set(same.keys(True, True)) <= set(frame.keys(True, True))
                for key in ("observation", ("next", "observation"), "action", ("next", "reward"), ("next", "done")):
                    assert torch.equal(frame[key], same[key])
