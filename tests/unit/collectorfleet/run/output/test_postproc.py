"""A postproc that spoils the batches of an output is the user's to mend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from collectorfleet.codec.frames import VERSION_KEY
from collectorfleet.errors import UserCodeError
from collectorfleet.run.output.postproc import checked


def batch() -> TensorDict:
    return TensorDict({"frame": torch.arange(4), VERSION_KEY: torch.ones(4, dtype=torch.int64)}, batch_size=[4])


def test_a_batch_of_postproc_is_passed_on() -> None:
    assert checked(lambda made: made[:2])(batch())["frame"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("postproc", "said"),
    [
        pytest.param(
            lambda made: made.select("frame"),
            "its batch has no entry ('collector', 'weights_version'); keep this entry",
            id="entry",
        ),
        pytest.param(lambda _: None, "it returned a NoneType; return a TensorDict", id="type"),
        pytest.param(lambda made: made["reward"], "KeyError: 'key ", id="error"),
    ],
)
def test_a_postproc_that_fails_or_leaves_out_the_versions_is_named(postproc: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(UserCodeError) as refused:
        checked(postproc)(batch())
    assert str(refused.value).startswith(f"collection.postproc: {said}")
