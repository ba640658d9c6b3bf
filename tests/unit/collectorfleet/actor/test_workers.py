"""What environments draw in the processes that a collector starts for them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from tests import envs
from torch import Tensor
from torchrl.collectors import MultiSyncCollector
from torchrl.envs import EnvBase, EnvCreator, GymWrapper, ParallelEnv, SerialEnv, StepCounter, TransformedEnv

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.seeds import Seeds
from collectorfleet.messages import Request

WORKERS = 2
STEPS = 4


class Drawing(gymnasium.Env[np.ndarray, Any]):
    """As envs.Drawing, for Gymnasium."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    observation_space = Box(0, 1, (3,), np.float32)
    action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        return self._draw(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        return self._draw(), 0.0, False, False, {}

    def _draw(self) -> np.ndarray:
        return np.array([np.random.rand(), random.random(), torch.rand(()).item()], np.float32)


def parallel() -> EnvBase:
    return ParallelEnv(WORKERS, EnvCreator(envs.make_drawing))


def nested() -> EnvBase:
    return TransformedEnv(SerialEnv(1, parallel), StepCounter())


def asynchronous() -> EnvBase:
    return GymWrapper(AsyncVectorEnv([Drawing] * WORKERS, context="fork", autoreset_mode=AutoresetMode.SAME_STEP))


MAKERS: dict[str, dict[str, Any]] = {
    "ParallelEnv": {"create_env": nested},
    "AsyncVectorEnv": {"create_env": asynchronous},
    "MultiSyncCollector": {
        "create_env": envs.make_drawing,
        "collector_class": MultiSyncCollector,
        "workers": WORKERS,
        "options": {"cat_results": "stack"},
    },
}


@pytest.fixture(autouse=True)
def own_random_state() -> Iterator[None]:
    """The seeds are those of this process, which is to have its own afterwards."""
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    yield
    torch.set_rng_state(states[0])
    np.random.set_state(states[1])
    random.setstate(states[2])


def drawn(config: CollectorConfig, seeds: Seeds) -> Tensor:
    """float32 [WORKERS, STEPS, 3]: by numpy, ``random`` and torch."""
    seeds.seed_process()
    runner = build(config, 1, seeds)
    try:
        batch = runner.run(Request(1, WORKERS * STEPS, 0)).batch
        assert batch is not None
        return batch["next", "observation"].reshape(WORKERS, STEPS, 3).clone()
    finally:
        runner.collector.shutdown()


@pytest.mark.parametrize("made_of", list(MAKERS.values()), ids=list(MAKERS))
def test_each_process_draws_its_own_and_repeats_it_with_the_seed(made_of: dict[str, Any]) -> None:
    config = CollectorConfig(policy=envs.make_policy(), frames_per_request=WORKERS * STEPS, **made_of)
    first = drawn(config, Seeds(7, 0, 0))
    assert torch.equal(first, drawn(config, Seeds(7, 0, 0)))
    replacement = drawn(config, Seeds(7, 0, 1))
    seen = torch.cat([first, replacement]).flatten(0, 1)
    assert [len(column.unique()) for column in seen.unbind(-1)] == [2 * WORKERS * STEPS] * 3


def test_numbers_differ_for_each_process_of_each_collector() -> None:
    def numbers(seeds: Seeds) -> tuple[float, ...]:
        seeds.seed_process()
        return (np.random.rand(), random.random(), torch.rand(()).item(), float(seeds.environment))

    one = Seeds(2**64 - 1, 3, 2**21)
    others = [
        one,
        Seeds(0, 3, 2**21),
        Seeds(2**64 - 1, 4, 2**21),
        Seeds(2**64 - 1, 3, 2**21 + 1),
        *(one.of_worker(number) for number in range(3)),
        *(one.of_fork(number) for number in range(3)),
        one.of_worker(0).of_worker(0),
    ]
    found = [numbers(seeds) for seeds in others]
    assert [len(set(column)) for column in zip(*found, strict=True)] == [len(others)] * 4
    assert numbers(one) == found[0]
