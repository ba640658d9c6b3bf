"""Read the frames of an environment from its ``render()`` or from an entry of its observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.envs import EnvBase

from collectorfleet.codec.video import Pixels, reduced
from collectorfleet.errors import with_article

_COLORS: Final = 3
_PLANE: Final = 2  # dimensions of a gray frame
_CHANNELS: Final = (1, 3, 4)  # gray, colors, colors with alpha
_CERTAIN_CHANNELS: Final = (1, 3)  # four channels may be a stack of four frames


class CannotRender(Exception):
    """The environment returned no usable frame. The message tells the user what to change."""


class Frames:
    """Reads the frames of ``env``. Each environment of a batch has one frame.

    Args:
        pixel_key: the entry of the observations that has the frames. None: ``env.render()`` returns them.
    """

    def __init__(self, env: EnvBase, pixel_key: str | None) -> None:
        self._env = env
        self._pixel_key = pixel_key
        self._environments = env.batch_size.numel()

    def now(self, observed: TensorDictBase, rows: list[int]) -> list[Pixels]:
        """Return the present frames of environments ``rows``: uint8 ``[height, width, 3]``, at most 320 by 320 pixels.

        Raises CannotRender, or the error of ``render()``.
        """
        found = self._rendered() if self._pixel_key is None else self._observed(observed, self._pixel_key)
        return [reduced(_pixels(found[row])) for row in rows]

    def _rendered(self) -> list[Any]:
        render = getattr(self._env, "render", None)
        if render is None:
            raise CannotRender("the environment has no render(); set pixelKey to an entry of its observations")
        made = render()
        if made is None:
            raise CannotRender(
                "render() returned None; set render_mode: rgb_array in evaluation.environment.kwargs, or set pixelKey "
                "to an entry of the observations"
            )
        if not self._env.batch_size:
            return [made]
        if not isinstance(made, list | tuple) and np.ndim(made) == _COLORS and self._environments == 1:
            return [made]
        if len(made) != self._environments:
            raise CannotRender(
                f"render() returned {len(made)} frames for {self._environments} environments; return one frame for "
                "each environment"
            )
        return list(made)

    def _observed(self, observed: TensorDictBase, key: str) -> Tensor:
        values = observed.get(key, None)
        if values is None:
            there = ", ".join(sorted(map(str, observed.keys())))
            raise CannotRender(f"pixelKey: the observations have no entry {key}; they have {there}")
        if not isinstance(values, Tensor):
            raise CannotRender(
                f"pixelKey: the entry {key} is {with_article(type(values).__name__)}; it has to be a tensor"
            )
        shape = values.shape[len(self._env.batch_size) :]
        if not _is_picture(shape):
            raise CannotRender(
                f"pixelKey: an environment's entry {key} has the shape {list(shape)}; use [height, width], "
                "[height, width, channels] or [channels, height, width], with 1 or 3 channels"
            )
        return values.reshape(self._environments, *shape)


def _is_picture(shape: Sequence[int]) -> bool:
    """Return whether an observation of this shape is one frame."""
    if 0 in shape:
        return False
    return len(shape) == _PLANE or (
        len(shape) == _PLANE + 1 and (shape[0] in _CERTAIN_CHANNELS or shape[-1] in _CERTAIN_CHANNELS)
    )


def _pixels(frame: Any) -> Pixels:
    """Return ``frame`` as uint8 ``[height, width, 3]``. If ``frame`` has floats, their range must be 0 to 1."""
    if isinstance(frame, list | tuple):
        raise CannotRender("render() returned a list; use render_mode: rgb_array")
    values = frame.detach().cpu().numpy() if isinstance(frame, Tensor) else np.asarray(frame)
    if values.ndim == _PLANE:
        values = values[..., None]
    if values.ndim == _COLORS and values.shape[-1] not in _CHANNELS and values.shape[0] in _CERTAIN_CHANNELS:
        values = np.moveaxis(values, 0, -1)  # TorchRL's transforms put the channels first
    if values.ndim != _COLORS or values.shape[-1] not in _CHANNELS or not values.size:
        raise CannotRender(f"a frame has the shape {list(np.shape(frame))}; it has to be [height, width, 3]")
    if values.dtype != np.uint8:
        values = _bytes(values)
    if values.shape[-1] == 1:
        values = values.repeat(_COLORS, -1)
    return np.ascontiguousarray(values[..., :_COLORS])


def _bytes(values: NDArray[Any]) -> Pixels:
    if np.issubdtype(values.dtype, np.floating):
        values = np.nan_to_num(values) * 255
    return values.clip(0, 255).astype(np.uint8)
