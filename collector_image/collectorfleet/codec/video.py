"""Convert frames to an animated WebP file and back, with Pillow."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageSequence

# uint8 [height, width, 3]
Pixels = NDArray[np.uint8]

LARGEST_SIDE: Final = 320  # pixels
MOST_BYTES: Final = 1_000_000
FRAMES_PER_SECOND: Final = 20
_FRAME_MILLISECONDS: Final = 1000 // FRAMES_PER_SECOND
# Options of WebP. With this quality, flat drawings and noise look right. A higher quality costs more bytes and time.
_OPTIONS: Final[dict[str, Any]] = {"quality": 60, "method": 2, "allow_mixed": True}
_GIF_COLORS: Final = 128
# The names of chunks of a WebP file: a frame of an animation, and the pixels of a picture.
_ANIMATION: Final = b"ANMF"
_PIXELS: Final = (b"VP8 ", b"VP8L")


def reduced(frame: Pixels) -> Pixels:
    """Return ``frame``, scaled to at most 320 pixels in width and in height. The proportions do not change."""
    height, width, _ = frame.shape
    longest = max(height, width)
    if longest <= LARGEST_SIDE:
        return frame
    size = (max(1, width * LARGEST_SIDE // longest), max(1, height * LARGEST_SIDE // longest))
    return np.asarray(Image.fromarray(frame).resize(size, Image.Resampling.BOX))


def encode(frames: Sequence[Pixels]) -> bytes:
    """Return an animated WebP file of at most 1 MB, if it has several frames. Viewers repeat the animation without end.

    If the file is larger than 1 MB, every second frame is left out, and the other frames are shown for twice as long.
    This step is repeated until the file is small enough or one frame is left. A file with one frame may exceed 1 MB.
    """
    milliseconds = _FRAME_MILLISECONDS
    while True:
        data = _webp(frames, milliseconds)
        if len(data) <= MOST_BYTES or len(frames) == 1:
            return data
        frames, milliseconds = frames[::2], 2 * milliseconds


def decode(data: bytes) -> tuple[NDArray[np.uint8], float]:
    """Return the frames of a file, uint8 ``[frames, height, width, 3]``, and the frames per second.

    WebP stores consecutive equal frames only once. The result repeats each frame as often as its duration requires.
    """
    with Image.open(io.BytesIO(data)) as image:
        shown = [(np.asarray(frame.convert("RGB")), _milliseconds(frame)) for frame in ImageSequence.Iterator(image)]
    # The duration of a single frame is the duration of the whole video.
    step = math.gcd(*(milliseconds for _, milliseconds in shown)) if len(shown) > 1 else _FRAME_MILLISECONDS
    frames = [frame for frame, milliseconds in shown for _ in range(milliseconds // step)]
    return np.stack(frames), 1000 / step


def size_of(data: bytes) -> tuple[int, int]:
    """Return the width and the height of a file, in pixels."""
    with Image.open(io.BytesIO(data)) as image:
        return image.size


def gif(data: bytes) -> bytes:
    """Convert a WebP file to an animated GIF with the same frames, for viewers without support for WebP."""
    frames, per_second = decode(data)
    images = [
        Image.fromarray(frame).quantize(_GIF_COLORS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        for frame in frames
    ]
    out = io.BytesIO()
    images[0].save(out, "GIF", save_all=True, append_images=images[1:], duration=round(1000 / per_second), loop=0)
    return out.getvalue()


def _milliseconds(frame: Image.Image) -> int:
    """Return how long a frame is shown, in milliseconds.

    A file with one frame has no duration. For such a file, return the default duration.
    """
    frame.load()  # reads the duration
    return int(frame.info.get("duration") or _FRAME_MILLISECONDS)


def _webp(frames: Sequence[Pixels], milliseconds: int) -> bytes:
    first, *rest = [Image.fromarray(frame) for frame in frames]
    out = io.BytesIO()
    first.save(out, "WEBP", save_all=True, append_images=rest, duration=milliseconds, loop=0, **_OPTIONS)
    data = out.getvalue()
    chunks = dict(_chunks(data))
    # If all frames are equal, Pillow writes a picture without a duration.
    return data if not rest or _ANIMATION in chunks else _animation(chunks, first.size, len(frames) * milliseconds)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the content of each chunk of a WebP file."""
    at = 12  # after the header of the file
    while at < len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        yield name, data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _animation(picture: dict[bytes, bytes], size: tuple[int, int], milliseconds: int) -> bytes:
    """Return an animated WebP file with one frame. ``picture`` has the chunks of a file with this frame."""
    bounds = b"".join(_three_bytes(side - 1) for side in size)
    frame = bytes(6) + bounds + _three_bytes(milliseconds) + bytes(1)
    pixels = b"".join(_chunk(name, picture[name]) for name in _PIXELS if name in picture)
    has_animation = b"\x02" + bytes(3)
    content = _chunk(b"VP8X", has_animation + bounds) + _chunk(b"ANIM", bytes(6)) + _chunk(_ANIMATION, frame + pixels)
    return struct.pack("<4sI4s", b"RIFF", 4 + len(content), b"WEBP") + content


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack("<4sI", name, len(content)) + content + bytes(len(content) % 2)


def _three_bytes(number: int) -> bytes:
    return number.to_bytes(3, "little")
