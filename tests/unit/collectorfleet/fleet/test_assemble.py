"""Answers of collectors, put together to a batch."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict, TensorDictBase

from collectorfleet.codec import tensors as wire
from collectorfleet.codec.frames import MASK_KEY, VERSION_KEY, Part
from collectorfleet.fleet.assemble import Assembler, assemble
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.pool import BufferPool
from collectorfleet.messages import Segment


def answer(*lengths: int, life: int = 0) -> Part:
    """Trajectories of these lengths, ``[trajectories, longest]``, that count their steps from 1."""
    steps = torch.arange(1, max(lengths) + 1).expand(len(lengths), -1)
    mask = steps <= torch.tensor(lengths).unsqueeze(-1)
    rollout = TensorDict({"step": steps * mask, MASK_KEY: mask}, batch_size=mask.shape, names=[None, "time"])
    return Part(wire.encode(rollout), (Segment(0, 1),), life)


@pytest.mark.parametrize("copy", [True, False])
def test_padded_trajectories_of_a_batch_are_as_long_as_the_longest_of_them_all(copy: bool) -> None:
    batch = assemble([answer(3, 1), answer(5, 2, life=1)], stacked=True, pool=BufferPool(), copy=copy)
    assert batch.shape == (2, 2, 5)
    assert batch.names == [None, None, "time"]
    assert batch["step"].tolist() == [
        [[1, 2, 3, 0, 0], [1, 0, 0, 0, 0]],
        [[1, 2, 3, 4, 5], [1, 2, 0, 0, 0]],
    ]
    assert batch[MASK_KEY].sum(-1).tolist() == [[3, 1], [5, 2]]
    assert (batch[VERSION_KEY][batch[MASK_KEY]] == 1).all()


def test_an_answer_that_is_a_batch_of_its_own_stays_as_it_is() -> None:
    batch = assemble([answer(3, 1)], stacked=False, pool=BufferPool())
    assert batch["step"].tolist() == [[1, 2, 3], [1, 0, 0]]


def test_a_batch_is_made_as_the_options_say() -> None:
    def doubled(batch: TensorDictBase) -> TensorDictBase:
        return batch.set("step", batch["step"] * 2)

    assembler = Assembler(FleetOptions(len, frames_per_batch=4, sync=True, postproc=doubled))
    made = assembler.batch([answer(2), answer(2, life=1)])
    assert made is not None
    assert made["step"].tolist() == [[[2, 4]], [[2, 4]]]


def test_nothing_is_handed_out_that_collectors_wrote_into_a_replay_buffer() -> None:
    assert Assembler(FleetOptions(len, frames_per_batch=4)).batch([None]) is None
