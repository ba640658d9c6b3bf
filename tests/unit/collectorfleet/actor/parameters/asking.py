"""Requests to a collector whose environments take parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.envs import EnvBase

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig
from collectorfleet.actor.finished_rollout import Rollout
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.codec.frames import PARAMETERS_KEY
from collectorfleet.messages import Parameters, Request
from collectorfleet.parameters import EnvironmentParameters

FRAMES = 8


@contextmanager
def runner(
    create: Callable[[], EnvBase], takes: EnvironmentParameters | None = None, **config: Any
) -> Iterator[RolloutRunner]:
    config = {"frames_per_request": FRAMES, **config}
    made = build(CollectorConfig(create, None, parameters=takes or EnvironmentParameters(), **config), incarnation=1)
    try:
        yield made
    finally:
        made.collector.shutdown()


class Asking:
    """Requests in a row; a change of the parameters goes along with one."""

    def __init__(self, made: RolloutRunner) -> None:
        self._made = made
        self._requests = 0
        self.version = 0

    def next(self, *changes: float) -> tuple[TensorDictBase, Tensor]:
        """One rollout after these levels were set; returns it with the version of each frame."""
        rollout = self.rollout(*changes)
        assert rollout.batch is not None
        batch = rollout.batch.clone()  # the next rollout is written to the same memory
        if rollout.parameters is not None:
            return batch, torch.full(batch.batch_size, rollout.parameters)
        return batch, batch[PARAMETERS_KEY]

    def rollout(self, *changes: float) -> Rollout:
        parameters = None
        for level in changes:
            self.version += 1
            parameters = Parameters(self.version, {"level": level})
        self._requests += 1
        return self._made.run(Request(self._requests, FRAMES, 0, parameters=parameters))


def levels_seen(batch: TensorDictBase) -> list[float]:
    found: list[float] = batch["observation"][..., 0].flatten().tolist()
    return found


def assert_true(batch: TensorDictBase, versions: Tensor) -> None:
    """Version ``n`` is level ``10 n`` here: before the step, and after it."""
    assert versions.dtype == torch.int64
    assert levels_seen(batch) == [10.0 * version for version in versions.flatten().tolist()]
    assert batch["next", "observation"][..., 0].flatten().tolist() == levels_seen(batch)
