"""TorchRL's collector with rollouts of our own where they are equal to its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector
from torchrl.envs.utils import set_exploration_type

from collectorfleet.actor.rollout.exact import NotExact
from collectorfleet.actor.rollout.find import find_loop


class FastCollector(Collector):
    """``Collector``, but for how it steps; takes its arguments.

    ``inexact`` says in one sentence why TorchRL's loop steps after all; None where ours does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inexact: str | None = None
        self._before_policy: Callable[[], None] | None = None
        try:
            self._loop = find_loop(self)
        except NotExact as why:
            self.inexact = str(why)

    def call_before_policy(self, call: Callable[[], None]) -> None:
        """Have ``call`` called in each step, before the policy; for a policy that is a module."""
        if self.inexact is None:
            self._loop.before_policy = call
        else:
            self.policy.register_forward_pre_hook(lambda *_: call())

    @torch.no_grad()
    def rollout(self) -> TensorDictBase:
        if self.inexact is not None:
            return super().rollout()
        if self._loop.policy.hooked:
            raise RuntimeError(
                "a module of the policy got a hook after the collector was built, which a fast rollout does not call; "
                "set collection.rollout to TorchRL"
            )
        if self.pre_collect_hook is not None:
            self.pre_collect_hook()
        if self.reset_at_each_iter:
            self._carrier.update(self.env.reset())
            self._start_new_trajectories()
        with set_exploration_type(self.exploration_type):
            draw = self._random_action if self._should_use_random_frames() else None
            self._loop.run(self, self._final_rollout, self.frames_per_batch, draw)
        return self._maybe_set_truncated(self._final_rollout)

    def _random_action(self) -> Tensor:
        return self.env.rand_action(TensorDict(batch_size=self.env.batch_size)).get("action")
