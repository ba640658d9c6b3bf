"""What a collector returns to calls of the driver, and how it reports errors after a rollout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest
import torch
from ray import cloudpickle
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


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        pytest.param(
            lambda server: server.execute("state_dict", (), {}),
            lambda found: found["policy_state_dict"]["module.value"],
            id="a state",
        ),
        pytest.param(lambda server: server.attribute("policy.module.value"), lambda found: found, id="a parameter"),
        pytest.param(lambda server: server.attribute("policy"), lambda found: found.module.value, id="a module"),
    ],
)
def test_weights_that_are_loaded_after_a_call_do_not_change_its_result(
    ask: Callable[[CollectorServer], Any], value: Callable[[Any], torch.Tensor]
) -> None:
    policy = envs.make_policy(1.0)
    server = CollectorServer(C0, CollectorConfig(envs.make_counting, policy, 4))
    server.build(0, seed_environment=False)
    found = ask(server)
    policy.module.value.data.fill_(2.0)
    sent = cloudpickle.dumps(found)
    assert value(cloudpickle.loads(sent)).item() == 1.0
