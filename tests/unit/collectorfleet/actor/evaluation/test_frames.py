"""Shapes of frames in observations: each environment has one frame, or a sentence names the entry and its shape."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from tensordict import NonTensorData, TensorDict

from collectorfleet.actor.evaluation.frames import CannotRender, Frames
from collectorfleet.codec.video import Pixels

HEIGHT, WIDTH = 84, 80


def observed(values: Any, *batch: int) -> list[Pixels]:
    """Return the frame of each environment of a batch whose observations have ``values`` as ``pixels``."""
    size = torch.Size(batch)
    env = cast("Any", SimpleNamespace(batch_size=size))
    return Frames(env, "pixels").now(TensorDict({"pixels": values}, size), list(range(size.numel())))


@pytest.mark.parametrize("batch", [(), (1,), (2,), (2, 3)])
@pytest.mark.parametrize(
    "shape",
    [(HEIGHT, WIDTH), (HEIGHT, WIDTH, 1), (HEIGHT, WIDTH, 3), (1, HEIGHT, WIDTH), (3, HEIGHT, WIDTH)],
)
def test_each_environment_has_its_own_frame_in_gray_or_colors(batch: tuple[int, ...], shape: tuple[int, ...]) -> None:
    count = torch.Size(batch).numel()
    levels = 10 * torch.arange(1, count + 1, dtype=torch.uint8)
    values = levels.view(*batch, *(1 for _ in shape)).expand(*batch, *shape)
    frames = observed(values, *batch)
    assert [frame.shape for frame in frames] == [(HEIGHT, WIDTH, 3)] * count
    assert [int(frame.min()) for frame in frames] == [int(frame.max()) for frame in frames] == levels.tolist()


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((4, HEIGHT, WIDTH), id="a stack of four gray frames"),
        pytest.param((HEIGHT, WIDTH, 4), id="a stack of four gray frames, channels last"),
        pytest.param((12, HEIGHT, WIDTH), id="a stack of four frames"),
        pytest.param((2, HEIGHT, WIDTH, 3), id="two cameras"),
        pytest.param((7,), id="no picture"),
        pytest.param((0, WIDTH), id="an empty picture"),
    ],
)
def test_an_entry_of_another_shape_is_refused_with_its_name_and_its_shape(
    batch: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    with pytest.raises(CannotRender) as caught:
        observed(torch.zeros(*batch, *shape), *batch)
    assert str(caught.value) == (
        f"pixelKey: an environment's entry pixels has the shape {list(shape)}; use [height, width], "
        "[height, width, channels] or [channels, height, width], with 1 or 3 channels"
    )


def test_an_entry_that_is_no_tensor_is_refused_with_its_name() -> None:
    with pytest.raises(CannotRender, match=r"^pixelKey: the entry pixels is a NonTensorData; it has to be a tensor$"):
        observed(NonTensorData("a frame"))
