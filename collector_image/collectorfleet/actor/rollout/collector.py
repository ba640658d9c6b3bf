"""TorchRL's collector with rollouts of our own where they are equal to its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from tensordict import TensorDictBase
from torchrl.collectors import Collector
from torchrl.envs.utils import set_exploration_type

from collectorfleet.actor.rollout.environment_loop import EnvironmentLoop
from collectorfleet.actor.rollout.exact import NotExact
from collectorfleet.actor.rollout.find import find_loop
from collectorfleet.actor.rollout.loop import Loop


class FastCollector(Collector):  # type: ignore[misc]  # TorchRL has no types
    """``Collector``, but for how it steps; takes its arguments.

    What it steps is looked at when that is first asked for, and not again.
    """

    @cached_property
    def _found(self) -> Loop | EnvironmentLoop | NotExact:
        try:
            return find_loop(self)
        except NotExact as why:
            return why
        except Exception as error:  # noqa: BLE001  (it is looked at what anybody wrote, and TorchRL's loop may take it)
            return NotExact(f"looking at what is stepped raised {type(error).__name__}: {error}")

    @property
    def steps_by(self) -> str:
        """Which loop steps, and why not the fastest."""
        return f"TorchRL: {self._found}" if isinstance(self._found, NotExact) else self._found.name

    @property
    def inexact(self) -> str | None:
        """Why TorchRL's loop steps after all, in one sentence; None where ours does."""
        return str(self._found) if isinstance(self._found, NotExact) else None

    def call_before_policy(self, call: Callable[[], None]) -> None:
        """Have ``call`` called in each step, before the policy; for a policy that is a module."""
        if not isinstance(self._found, NotExact):
            self._found.before_policy = call
        else:
            self.policy.register_forward_pre_hook(lambda *_: call())

    @torch.no_grad()
    def rollout(self) -> TensorDictBase:
        if isinstance(self._found, NotExact):
            return super().rollout()
        if self._found.policy.hooked:
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
            random = self._should_use_random_frames()
            self._found.run(self, self._final_rollout, self.frames_per_batch, random=random)
        return self._maybe_set_truncated(self._final_rollout)
