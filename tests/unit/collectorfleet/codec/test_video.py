"""Frames become a small file, and frames again."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageSequence

from collectorfleet.codec import video
from collectorfleet.codec.video import Pixels, decode, encode, gif, reduced, size_of


def squares(count: int) -> list[Pixels]:
    """A white square on black that moves to the right, five pixels a frame."""
    frames = np.zeros((count, 40, 60, 3), np.uint8)
    for number, frame in enumerate(frames):
        frame[10:20, 5 * number : 5 * number + 10] = 255
    return list(frames)


def test_a_file_has_the_frames_in_order_at_twenty_a_second() -> None:
    frames, per_second = decode(encode(squares(9)))
    assert (frames.shape, per_second) == ((9, 40, 60, 3), 20.0)
    for found, wanted in zip(frames, squares(9), strict=True):
        assert np.abs(found.astype(int) - wanted).mean() < 8


def test_equal_frames_in_a_row_come_back_as_often_as_they_were() -> None:
    first, *rest = squares(3)
    frames, per_second = decode(encode([first] * 5 + rest))
    assert (len(frames), per_second) == (7, 20.0)


def test_frames_that_are_all_repeated_are_each_shown_as_long_as_they_were() -> None:
    first, second = squares(2)
    frames, per_second = decode(encode([first] * 2 + [second] * 3))
    assert (len(frames), per_second) == (5, 20.0)
    assert np.abs(frames[1].astype(int) - first).mean() < 8
    assert np.abs(frames[2].astype(int) - second).mean() < 8


EQUAL_FRAMES = pytest.mark.parametrize(
    "frame", [squares(1)[0], np.mgrid[0:99:3, 0:7, 0:3][0].astype(np.uint8)], ids=["flat", "odd"]
)


@EQUAL_FRAMES
def test_a_video_whose_frames_are_all_equal_lasts_as_long(frame: Pixels) -> None:
    data = encode([frame] * 5)
    frames, per_second = decode(data)
    assert (frames.shape, per_second) == ((5, *frame.shape), 20.0)
    assert (frames == frames[0]).all()
    assert np.abs(frames[0].astype(int) - frame).mean() < 8
    with Image.open(io.BytesIO(gif(data))) as image:
        assert image.info["duration"] * image.n_frames == 250


@EQUAL_FRAMES
def test_a_video_whose_frames_are_all_equal_has_the_sizes_that_the_format_prescribes(frame: Pixels) -> None:
    data = encode([frame] * 5)
    assert struct.unpack_from("<4sI4s", data) == (b"RIFF", len(data) - 8, b"WEBP")
    sizes, at = {}, 12
    while at < len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        sizes[name] = size
        at += 8 + size + size % 2
    assert at == len(data)
    assert list(sizes) == [b"VP8X", b"ANIM", b"ANMF"]
    assert (sizes[b"VP8X"], sizes[b"ANIM"]) == (10, 6)


def test_a_single_frame_is_a_video() -> None:
    frames, per_second = decode(encode(squares(1)))
    assert (frames.shape, per_second) == ((1, 40, 60, 3), 20.0)


def test_a_file_that_would_be_too_large_has_fewer_frames_and_lasts_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "MOST_BYTES", 10_000)
    noise = list(np.random.default_rng(0).integers(0, 255, (40, 32, 32, 3), np.uint8))
    assert len(video._webp(noise, 50)) > 10_000
    data = encode(noise)
    frames, per_second = decode(data)
    assert len(data) <= 10_000
    assert len(frames) in (20, 10, 5)
    assert len(frames) / per_second == pytest.approx(2.0)


def test_a_file_may_have_its_largest_size_and_not_a_byte_more(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(encode(squares(8)))
    monkeypatch.setattr(video, "MOST_BYTES", size)
    assert len(decode(encode(squares(8)))[0]) == 8
    monkeypatch.setattr(video, "MOST_BYTES", size - 1)
    frames, per_second = decode(encode(squares(8)))
    assert (len(frames), per_second) == (4, 10.0)


@pytest.mark.parametrize(("excess", "size"), [(0, 1_000_000), (1, 500_001)])
def test_a_file_may_have_a_million_bytes(monkeypatch: pytest.MonkeyPatch, excess: int, size: int) -> None:
    monkeypatch.setattr(video, "_webp", lambda frames, _: bytes(500_000 * len(frames) + excess))
    assert len(encode(squares(2))) == size


def test_a_frame_that_is_too_large_by_itself_is_a_video(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "MOST_BYTES", 10)
    for count in (1, 2, 5):
        assert len(decode(encode(squares(count)))[0]) == 1


@pytest.mark.parametrize(
    ("size", "found"),
    [((640, 320), (320, 160)), ((300, 900), (106, 320)), ((900, 1), (320, 1)), ((1, 900), (1, 320))],
    ids=str,
)
def test_a_large_frame_keeps_its_proportions_and_at_least_one_pixel(
    size: tuple[int, int], found: tuple[int, int]
) -> None:
    assert reduced(np.zeros((*size, 3), np.uint8)).shape == (*found, 3)


@settings(max_examples=30)
@given(st.integers(1, 900), st.integers(1, 900))
def test_a_frame_is_at_most_320_pixels_wide_and_high(width: int, height: int) -> None:
    found = reduced(np.zeros((height, width, 3), np.uint8))
    assert max(found.shape[:2]) == min(320, max(width, height))
    assert min(found.shape) >= 1


def test_a_gif_has_the_same_frames_for_viewers_that_know_no_webp() -> None:
    data = encode(squares(9))
    with Image.open(io.BytesIO(gif(data))) as image:
        assert (image.format, image.n_frames, image.size) == ("GIF", 9, size_of(data))
        assert image.info["loop"] == 0
        for wanted, frame in zip(squares(9), ImageSequence.Iterator(image), strict=True):
            assert frame.info["duration"] == 50
            assert np.abs(np.asarray(frame.convert("RGB")).astype(int) - wanted).mean() < 8


def test_a_gif_has_at_most_128_colors() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    with Image.open(io.BytesIO(gif(encode([noise])))) as image:
        colors = np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colors) == 128


def test_viewers_repeat_a_video_without_end() -> None:
    with Image.open(io.BytesIO(encode(squares(2)))) as image:
        assert image.info["loop"] == 0
