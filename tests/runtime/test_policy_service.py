"""A policy that is TorchRL's inference service: one actor that answers for all collectors, and has the weights."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import ray
from tensordict import TensorDict
from tests import envs
from tests.runtime.batches import VERSION, Make, values
from tests.runtime.conftest import MakeBuffer
from torchrl.modules.inference_server import InferenceServer

from collectorfleet.errors import PolicyServiceLost

pytestmark = pytest.mark.usefixtures("local_ray")


@pytest.fixture
def service() -> Iterator[Any]:
    made = InferenceServer(
        policy_factory=partial(envs.make_policy, 1.0),
        service_backend="ray",
        service_backend_options={"remote_config": {"num_cpus": 0}},
        transport="auto",
    )
    yield made
    made.shutdown()


def weights(value: float) -> TensorDict:
    found: TensorDict = TensorDict.from_module(envs.make_policy(value)).data
    return found


def test_collectors_ask_the_service_and_frames_say_which_of_its_versions_acted(make: Make, service: Any) -> None:
    batches = iter(make(policy=service))
    first = next(batches)
    assert (values(first), set(first[VERSION].flatten().tolist())) == ({1.0}, {0})
    service.update_model_weights(weights(2.0))
    second = next(batches)
    assert (values(second), set(second[VERSION].flatten().tolist())) == ({2.0}, {1})


def test_weights_that_the_fleet_is_given_are_the_services_when_the_call_returns(make: Make, service: Any) -> None:
    collector = make(policy=service)
    assert collector.update_policy_weights_(weights(3.0), wait=True) is None
    assert service.policy_version == 1
    assert values(next(iter(collector))) == {3.0}
    assert collector.policy is service


def test_frames_in_a_replay_buffer_say_the_services_version(make: Make, service: Any, make_buffer: MakeBuffer) -> None:
    buffer = make_buffer()
    service.update_model_weights(weights(2.0))
    assert all(batch is None for batch in make(policy=service, replay_buffer=buffer, total_frames=40))
    assert set(buffer[:][VERSION].flatten().tolist()) == {1}


def test_the_end_of_the_service_is_nobodys_fault_but_ends_the_run(make: Make, service: Any) -> None:
    batches = iter(make(policy=service))
    next(batches)
    os.kill(ray.get(service._actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)
    with pytest.raises(PolicyServiceLost, match="the actor of the inference service and its weights were lost"):
        for _ in batches:
            pass
