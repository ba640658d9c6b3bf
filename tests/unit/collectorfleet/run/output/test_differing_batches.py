"""Batches with different entries: the output stores each batch unchanged, in a shard with equal entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import LazyStackedTensorDict, NonTensorData, NonTensorStack, TensorClass, TensorDict, TensorDictBase

from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.run.output.rollouts import RolloutWriter


class Reading(TensorClass):
    value: torch.Tensor


def batch(**entries: Any) -> TensorDict:
    return TensorDict({VERSION_KEY: torch.ones(10, dtype=torch.int64), **entries}, batch_size=[10])


def writer(folder: Path) -> RolloutWriter:
    return RolloutWriter(str(folder), fleet="cheetah", run_id="run-1")


def odd(*values: float, dtype: torch.dtype = torch.float32) -> TensorDict:
    return batch(odd=torch.tensor(values, dtype=dtype).expand(10, -1))


def layout(made: TensorDictBase) -> list[tuple[Any, Any, Any]]:
    """Keys, shapes and dtypes of a batch, or of each part of a ragged batch."""
    parts = made.unbind(0) if made.ndim == 2 else [made]
    return [
        (key, value.shape, value.dtype)
        for part in parts
        for key, value in sorted(part.items(include_nested=True, leaves_only=True), key=str)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(odd(0.5), odd(2**24 + 1, dtype=torch.int64), id="dtypes"),
        pytest.param(odd(0.5), odd(0.5, 0.5), id="shapes"),
        pytest.param(odd(0.5), batch(), id="entries"),
        pytest.param(batch(agent=odd(0.5)), batch(agent=odd(1, dtype=torch.bool)), id="nested"),
        pytest.param(
            batch(reading=Reading(torch.zeros(10), batch_size=[10])),
            batch(reading=Reading(torch.zeros(10, dtype=torch.int64), batch_size=[10])),
            id="tensorclasses",
        ),
        pytest.param(
            LazyStackedTensorDict.lazy_stack([odd(0.5), odd(0.5, 0.5)]),
            LazyStackedTensorDict.lazy_stack([odd(0.5), odd(0.5, 0.5, 0.5)]),
            id="ragged",
        ),
        pytest.param(
            TensorDict.maybe_dense_stack([odd(0.5), odd(0.5)]),
            LazyStackedTensorDict.lazy_stack([odd(0.5), batch()]),
            id="dense and ragged",
        ),
    ],
)
def test_batches_of_environments_that_differ_come_back_as_they_were(
    tmp_path: Path, one: TensorDictBase, other: TensorDictBase
) -> None:
    out, written = writer(tmp_path), [one, one, other, other, one]
    for each in written:
        out.write(each)
    out.flush()
    assert out.shards == 3
    found = [part for shard in range(3) for part in TensorDict.load_memmap(tmp_path / f"shard-{shard:06d}").unbind(0)]
    assert [layout(part) for part in found] == [layout(part) for part in written]
    assert all((mine == its).all() for mine, its in zip(found, written, strict=True))


def test_batches_with_text_of_each_frame_or_of_the_whole_batch_share_a_shard(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write(batch(task=NonTensorData("open the door", batch_size=[10])))
    out.write(batch(task=NonTensorStack(*"abcdefghij")))
    out.flush()
    assert out.shards == 1
    assert TensorDict.load_memmap(tmp_path / "shard-000000")["task"] == [["open the door"] * 10, [*"abcdefghij"]]
