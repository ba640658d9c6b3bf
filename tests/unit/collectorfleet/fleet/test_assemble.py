"""Answers of collectors, put together to a batch."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict, TensorDictBase, lazy_stack

from collectorfleet.codec import tensors as wire
from collectorfleet.codec.frames import MASK_KEY, VERSION_KEY, Part
from collectorfleet.errors import InvalidOption
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
    made = assembler.batch([answer(2), answer(2, life=1)], [0, 1])
    assert made is not None
    assert made["step"].tolist() == [[[2, 4]], [[2, 4]]]


def test_nothing_is_handed_out_that_collectors_wrote_into_a_replay_buffer() -> None:
    assert Assembler(FleetOptions(len, frames_per_batch=4)).batch([None], [0]) is None


def frames(**entries: torch.Tensor | TensorDictBase) -> Part:
    """An answer of two frames."""
    return Part(wire.encode(TensorDict(entries, batch_size=[2])), None, 0)


@pytest.mark.parametrize(
    ("big", "sentence"),
    [
        pytest.param(
            {"pixels": torch.zeros(2)}, "frames of fast have step, but frames of big do not", id="another entry"
        ),
        pytest.param(
            {"step": torch.zeros(2), "pixels": torch.zeros(2)},
            "frames of big have pixels, but frames of fast do not",
            id="one more entry",
        ),
        pytest.param(
            {"step": torch.zeros(2, 3)}, r"step is float32 \[\] in fast, but float32 \[3\] in big", id="shape"
        ),
        pytest.param(
            {"step": torch.zeros(2, dtype=torch.int64)},
            r"step is float32 \[\] in fast, but int64 \[\]",
            id="dtype",
        ),
    ],
)
def test_frames_of_groups_that_do_not_fit_together_are_told_by_group_and_entry(
    big: dict[str, torch.Tensor], sentence: str
) -> None:
    options = FleetOptions(len, frames_per_batch=6, sync=True, groups=["fast", "fast", "big"])
    parts = [frames(step=torch.zeros(2)), frames(**big)]
    with pytest.raises(InvalidOption, match=f"^groups: {sentence}"):
        Assembler(options).batch(parts, [1, 2])
    with pytest.raises(InvalidOption, match=f"^create_env_fn: {sentence.replace('fast', 'c1').replace('big', 'c4')}"):
        Assembler(options).batch(parts, [1, 4])


def test_agents_may_have_entries_of_different_shapes() -> None:
    """TorchRL stacks such agents lazily."""

    def of_agents() -> Part:
        agents = lazy_stack([TensorDict({"seen": torch.ones(2, size)}, [2]) for size in (3, 4)], 1)
        return frames(step=torch.zeros(2), agents=agents)

    options = FleetOptions(len, frames_per_batch=4, sync=True, num_collectors=2)
    batch = Assembler(options).batch([of_agents(), of_agents()], [0, 1])
    assert batch is not None
    assert [batch["agents"][..., agent]["seen"].shape for agent in (0, 1)] == [(2, 2, 3), (2, 2, 4)]


def test_frames_of_groups_that_are_alike_are_one_batch() -> None:
    options = FleetOptions(len, frames_per_batch=4, sync=True, groups=["fast", "big"])
    batch = Assembler(options).batch([frames(step=torch.zeros(2)), frames(step=torch.ones(2))], [0, 1])
    assert batch is not None
    assert batch["step"].tolist() == [[0, 0], [1, 1]]


def rollout(device: str | None, steps: int = 2) -> Part:
    """An answer as a collector with this ``storing_device`` makes it."""
    entries = {"observation": torch.zeros(steps), "next": {"observation": torch.zeros(steps)}}
    made = TensorDict(entries, batch_size=[steps], device=device)
    made[MASK_KEY] = torch.ones(steps, dtype=torch.bool)
    return Part(wire.encode(made), (Segment(0, 1),), 0)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param(("cpu", "cpu"), torch.device("cpu"), id="of the CPU"),
        pytest.param((None, None), None, id="of none"),
        pytest.param(("cpu", None), None, id="of different ones"),
    ],
)
def test_a_batch_has_the_device_that_torchrls_has(
    devices: tuple[str | None, ...], expected: torch.device | None, stacked: bool, copy: bool
) -> None:
    parts = [rollout(device) for device in devices]
    if not stacked:
        parts, expected = parts[:1], None if devices[0] is None else torch.device(devices[0])
    batch = assemble(parts, stacked=stacked, pool=BufferPool(), copy=copy)
    assert batch.device == batch["next"].device == batch["collector"].device == expected


def test_padded_and_ragged_batches_have_a_device_too() -> None:
    for copy in (True, False):
        batch = assemble([rollout("cpu", 2), rollout("cpu", 3)], stacked=True, pool=BufferPool(), copy=copy)
        assert (batch.shape, batch.device) == (torch.Size([2, 3]), torch.device("cpu"))
