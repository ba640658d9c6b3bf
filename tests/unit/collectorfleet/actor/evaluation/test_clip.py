"""The frames of an episode, however long it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectorfleet.actor.evaluation.clip import MOST_FRAMES, Clip


def steps_of(length: int) -> list[int]:
    """The steps whose frames are kept of an episode of ``length`` steps; the frame of a step is its number."""
    clip = Clip()
    for step in range(length + 1):
        if clip.wants(step) or step == length:
            clip.add(np.asarray(step))  # type: ignore[arg-type]
    return [int(frame) for frame in clip.frames]


@pytest.mark.parametrize("length", [1, 2, 10, MOST_FRAMES - 1])
def test_each_step_of_a_short_episode_is_a_frame(length: int) -> None:
    assert steps_of(length) == list(range(length + 1))


@settings(max_examples=50)
@given(st.integers(1, 5000))
def test_a_long_episode_has_at_most_200_frames_that_are_evenly_spaced_and_end_with_the_last(length: int) -> None:
    found = steps_of(length)
    assert len(found) <= MOST_FRAMES
    assert (found[0], found[-1]) == (0, length)
    *gaps, last = np.diff(found)
    assert len(set(gaps)) <= 1
    assert not gaps or last <= gaps[0]
    assert length < MOST_FRAMES or len(found) > MOST_FRAMES / 2
