"""TorchRL's collector with a faster loop.

The faster loop is used only if its rollouts equal the rollouts of TorchRL's loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.collectors import Collector
from torchrl.envs.utils import set_exploration_type

from collectorfleet.actor.origin import Origin, calling
from collectorfleet.actor.rollout.exact import FastLoopUnsupported
from collectorfleet.actor.rollout.find import ChosenLoop, find_loop
from collectorfleet.actor.rollout.loop import LeftOver
from collectorfleet.torchrl_private.collectors import (
    carrier_of,
    draws_random_actions,
    kept_batch,
    policy_writes,
    recorded_policy,
    set_kept_batch,
    set_recorded_policy,
    start_trajectories,
    truncated_at_end,
)


class FastCollector(Collector):  # type: ignore[misc]  # TorchRL has no types
    """A ``Collector`` that can use a fast loop. Its arguments are the arguments of ``Collector``.

    The collector chooses the loop before the first rollout. If the environment, the transforms or the policy have
    changed before a later rollout, the collector chooses again. If a rollout shows that the chosen loop is not exact,
    TorchRL's loop makes the remaining steps and all later rollouts. If ``must_be_fast`` is true, the collector raises
    FastLoopUnsupported instead of using TorchRL's loop.
    """

    must_be_fast = False
    # The types of attributes that TorchRL's collector sets.
    frames_per_batch: int
    pre_collect_hook: Any
    reset_at_each_iter: bool
    _found: ChosenLoop | FastLoopUnsupported | None = None
    _before_policy: Callable[[], None] | None = None

    def _choose(self) -> ChosenLoop | FastLoopUnsupported:
        """Return the chosen loop. If environment, transforms or policy have changed since the choice, choose again."""
        found = self._found
        if isinstance(found, FastLoopUnsupported):
            return found
        changed = None if found is None else found.structure.change()
        if found is None or changed is not None:
            found = _find(self, changed)
            self._use(found)
        return found

    def _use(self, found: ChosenLoop | FastLoopUnsupported) -> None:
        self._found = found
        call = self._before_policy
        if call is None:
            return
        if isinstance(found, ChosenLoop):
            found.loop.before_policy = call
        else:
            call_in_steps(self, self.policy, call)

    @property
    def steps_by(self) -> str:
        """The name of the loop in use. For TorchRL's loop, the text includes the reason."""
        found = self._found or self._choose()
        return f"TorchRL: {found}" if isinstance(found, FastLoopUnsupported) else found.loop.name

    @property
    def inexact(self) -> str | None:
        """The reason why TorchRL's loop is used, in one sentence. It is None if the fast loop is used."""
        found = self._found or self._choose()
        return str(found) if isinstance(found, FastLoopUnsupported) else None

    def call_before_policy(self, call: Callable[[], None]) -> None:
        """Make the loop call ``call`` in each step before the policy. The policy must be a module.

        ``call`` may change the weights. Such a change does not affect the policy's outputs of earlier steps.
        """
        found = self._choose()  # choose before ``call`` is stored, because otherwise a new choice would set it twice
        self._before_policy = call
        self._use(found)

    @torch.no_grad()
    def rollout(self) -> TensorDictBase:
        """Make one rollout with the chosen loop, and return its frames.

        Raises:
            FastLoopUnsupported: ``must_be_fast`` is true, but TorchRL's loop would have to make steps.
        """
        if self.pre_collect_hook is not None:
            with calling(Origin.PRE_COLLECT_HOOK):
                self.pre_collect_hook()  # called before the loop is chosen: the hook may change the environment
        found = self._choose()
        if isinstance(found, FastLoopUnsupported):
            if self.must_be_fast:
                raise found
            return self._by_torchrl()
        if self.reset_at_each_iter:
            carrier_of(self).update(self.env.reset())
            start_trajectories(self)
        batch = kept_batch(self)
        with set_exploration_type(self.exploration_type):
            random = draws_random_actions(self)
            left = found.loop.run(self, batch, self.frames_per_batch, random=random)
        if left is not None:
            self._use(FastLoopUnsupported(left.why))
            if self.must_be_fast:
                raise FastLoopUnsupported(
                    f"{left.why}; write to a clone of the tensor, or set collection.rollout to Auto"
                )
            self._finish(batch, left)
            left.check()
        return truncated_at_end(self, batch)

    def _by_torchrl(self) -> TensorDictBase:
        """Make a rollout with TorchRL's loop. Do not call the hook, because :meth:`rollout` has already called it."""
        hook, self.pre_collect_hook = self.pre_collect_hook, None
        try:
            return super().rollout()
        finally:
            self.pre_collect_hook = hook

    def _finish(self, batch: TensorDictBase, left: LeftOver) -> None:
        """Make the remaining steps of a rollout with TorchRL's loop."""
        steps = self.frames_per_batch
        if left.begins == steps:
            return
        resets = self.reset_at_each_iter
        self.reset_at_each_iter = False
        self.frames_per_batch = steps - left.begins
        set_kept_batch(self, batch[..., left.begins :])
        try:
            batch[..., left.begins :] = self._by_torchrl()
        finally:
            self.reset_at_each_iter = resets
            self.frames_per_batch = steps
            set_kept_batch(self, batch)
        if left.shares:
            self._share(batch, left.begins)

    def _share(self, batch: TensorDictBase, step: int) -> None:
        """Copy the observations at the start of ``step`` into ``next`` of the previous step.

        In TorchRL's loop, both are the same memory.
        """
        time = batch.ndim - 1
        for key in self.env.observation_spec.keys(True, True):
            seen, before = batch.get(key), batch.get(("next", key) if isinstance(key, str) else ("next", *key), None)
            if before is not None:
                before.select(time, step - 1).copy_(seen.select(time, step))


def call_in_steps(collector: Any, policy: Any, call: Callable[[], None]) -> None:
    """Make TorchRL's loop call ``call`` before the policy in each step, and copy the policy's outputs after each step.

    ``call`` may change the weights. Without copies, a change of the weights would also change outputs that are views of
    the weights.
    """
    if getattr(collector, "cudagraphed_policy", False) and torch.cuda.is_available():
        _call_before_recorded(collector, call)
        return
    writes = policy_writes(collector)

    def keep(_: Any, __: Any, outputs: Any) -> None:
        if isinstance(outputs, TensorDictBase):
            for key in writes:
                tensor = outputs.get(key, None)
                if isinstance(tensor, torch.Tensor):
                    outputs.set(key, tensor.clone())

    policy.register_forward_pre_hook(lambda *_: call())
    policy.register_forward_hook(keep)


def _call_before_recorded(collector: Any, call: Callable[[], None]) -> None:
    recorded = recorded_policy(collector)

    # A hook of the policy would run while the graph is recorded, but not when the graph is replayed. So the call is
    # made outside the graph.
    def acting(observed: TensorDictBase) -> Any:
        call()
        return recorded(observed)

    set_recorded_policy(collector, acting)


def _find(collector: FastCollector, changed: str | None) -> ChosenLoop | FastLoopUnsupported:
    try:
        return find_loop(collector)
    except FastLoopUnsupported as why:
        found = why
    except Exception as error:  # noqa: BLE001  (the user's code may raise any error; TorchRL's loop may work)
        found = FastLoopUnsupported(f"inspecting the environment and the policy raised {type(error).__name__}: {error}")
    return found if changed is None else FastLoopUnsupported(f"{found} ({changed} has changed)")
