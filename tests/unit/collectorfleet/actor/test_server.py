"""What a collector says of what goes wrong after its rollout."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from tests import envs

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.server import CollectorServer
from collectorfleet.codec import tensors
from collectorfleet.messages import CollectorId, Raised, Request

C0 = CollectorId("c0", 1)


def test_frames_that_cannot_be_written_down_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    server = CollectorServer(C0, CollectorConfig(envs.make_counting, envs.make_policy(), 4))
    server.build(0, seed_environment=False)

    def encode(_batch: Any, **_: Any) -> NoReturn:
        raise ValueError("no array has that")

    monkeypatch.setattr(tensors, "encode", encode)
    said = server.run(Request(1, 4, 0))
    assert isinstance(said, Raised)
    assert (said.where, said.cause, said.by_environment) == ("frames", "ValueError: no array has that", False)
