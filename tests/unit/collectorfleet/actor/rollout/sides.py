"""One collector stepped by TorchRL's loop and by ours, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.envs import EnvBase

from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.actor.finished_rollout import Rollout
from collectorfleet.actor.inbox import Offer
from collectorfleet.actor.rollouts import RolloutRunner
from collectorfleet.messages import Request
from collectorfleet.normalization import Normalization


@dataclass(frozen=True)
class Asked:
    """``steps`` of each environment; after ``cut_after`` the collector is interrupted, None: it is not."""

    steps: int
    random: bool = False
    cut_after: int | None = None


class After:
    """Interrupts after so many steps, at the latest."""

    def __init__(self, steps: int | None) -> None:
        self._left = steps

    def collection_stopped(self) -> bool:
        if self._left is None:
            return False
        self._left -= 1
        return self._left <= 0


class Side:
    """One of the two, with a random generator of its own."""

    def __init__(self, config: CollectorConfig, loop: RolloutLoop, seed: int) -> None:
        torch.manual_seed(seed)
        self.runner: RolloutRunner = build(replace(config, rollout=loop), 0)
        # TorchRL tries out a vector environment before it is seeded, and draws as often as episodes end in that.
        torch.manual_seed(seed)
        self._random = _random_state()
        self._asked = 0

    def run(self, asked: Asked, weights: Offer | None = None) -> Rollout:
        """The rollout; its batch is a copy."""
        _set_random_state(self._random)
        self._asked += 1
        self.runner.collector.interruptor = After(asked.cut_after)
        request = Request(self._asked, asked.steps * self.runner.collector.n_env, 0, random=asked.random)
        found = self.runner.run(request, weights)
        self._random = _random_state()
        assert found.batch is not None
        return replace(found, batch=found.batch.clone())

    def do(self, call: Callable[[Any], Any]) -> Any:
        """Something else with the collector, in its turn of the generator."""
        _set_random_state(self._random)
        found = call(self.runner)
        self._random = _random_state()
        return found

    @property
    def random_state(self) -> list[Any]:
        return [state.tolist() for state in self._random]


def _random_state() -> list[torch.Tensor]:
    """Of the CPU, and of the GPU where there is one."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_available() else [])]


def _set_random_state(states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0])
    for state in states[1:]:
        torch.cuda.set_rng_state(state)


def sides(
    make_env: Callable[[], EnvBase],
    make_policy: Callable[[], Any] | None,
    frames: int,
    seed: int = 0,
    loop: RolloutLoop = RolloutLoop.FAST,
    **options: Any,
) -> tuple[Side, Side]:
    """TorchRL's and ours, which is ``loop``; each environment is made and seeded alike."""

    def seeded() -> EnvBase:
        env = make_env()
        env.set_seed(seed)
        return env

    config = CollectorConfig(seeded, None, frames, policy_factory=make_policy, options=options)
    return Side(config, RolloutLoop.TORCHRL, seed), Side(config, loop, seed)


_COMPARED_APART: dict[str, Any] = {"batch": None, "normalization": None, "loop": None}


def assert_equal(theirs: Rollout, ours: Rollout) -> None:
    """Entry by entry, and what is outputs of it, but for which loop steps next."""
    assert theirs.batch is not None
    assert ours.batch is not None
    assert_equal_batches(theirs.batch, ours.batch)
    assert replace(theirs, **_COMPARED_APART) == replace(ours, **_COMPARED_APART)
    assert _plain(theirs.normalization) == _plain(ours.normalization)


def _plain(found: Normalization | None) -> dict[str, Any]:
    return {
        key: (one.decay, one.updates, {name: values.tolist() for name, values in one.sums.items()})
        for key, one in (found or {}).items()
    }


def compare(theirs: Side, ours: Side, requests: Iterable[Asked]) -> None:
    """Assert that both answer each request alike, and draw as often."""
    for asked in requests:
        assert_equal(theirs.run(asked), ours.run(asked))
        assert theirs.random_state == ours.random_state


def assert_equal_batches(theirs: TensorDictBase, ours: TensorDictBase) -> None:
    assert set(theirs.keys(True, True)) == set(ours.keys(True, True))
    assert (theirs.batch_size, theirs.names, theirs.device) == (ours.batch_size, ours.names, ours.device)
    for key in theirs.keys(True, True):
        left, right = theirs.get(key), ours.get(key)
        assert (left.dtype, left.shape) == (right.dtype, right.shape), key
        assert torch.equal(left.nan_to_num(-1e9), right.nan_to_num(-1e9)), key
        assert torch.equal(left.isnan(), right.isnan()), key
