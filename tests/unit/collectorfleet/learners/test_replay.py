"""Frames of several policies in one replay actor's memory."""

from __future__ import annotations

import torch
from tensordict import TensorDict

from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.learners.replay import PolicyReplay


def frames(*versions: int) -> TensorDict:
    made = TensorDict({"x": torch.zeros(len(versions))}, [len(versions)])
    made[VERSION_KEY] = torch.tensor(versions)
    return made


def test_frames_are_counted_by_the_version_that_made_them_and_the_oldest_leave() -> None:
    replay = PolicyReplay(capacity=4)
    replay.extend("a", frames(1, 1, 2))
    replay.extend("b", frames(7))
    assert replay.weights_versions("a") == {1: 2, 2: 1}
    replay.extend("a", frames(3, 3))
    assert replay.weights_versions("a") == {1: 1, 2: 1, 3: 2}
    assert replay.weights_versions("b") == {7: 1}


def test_frames_that_do_not_say_their_version_are_not_counted() -> None:
    replay = PolicyReplay()
    assert replay.weights_versions("a") == {}
    replay.extend("a", TensorDict({"x": torch.zeros(3)}, [3]))
    assert replay.weights_versions("a") == {}
    assert replay.size("a") == 3
