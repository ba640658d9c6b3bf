"""The steps of one rollout, from TorchRL's carrier to TorchRL's memory.

Between two rollouts all that is known is where TorchRL's collector has it, so that its other methods (``reset``,
``load_state_dict``, ``set_seed``) need no form of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from tensordict import TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.rollout.environments import Environments
from collectorfleet.actor.rollout.frame import Frame
from collectorfleet.actor.rollout.memory import TRAJECTORY, Memory, Trajectories
from collectorfleet.actor.rollout.policies import Policy, Values
from collectorfleet.actor.rollout.transforms import Ends, Observed, Stepping


class Loop:
    """What a collector steps, found once.

    Args:
        keys: all that a batch has.
        frames: two of them: the policy may hand on what it was given, so a step is written beside the one before.
        observed: where environments write what they see, ``[environments, *shape]``, and what makes the observation of
            it; None if it is the observation.
        ends: nobody is at an end: what a policy may read of it.
    """

    def __init__(
        self,
        envs: Environments,
        observed: tuple[np.ndarray, Observed] | None,
        stepping: Sequence[Stepping],
        policy: Policy,
        keys: Iterable[Any],
        frames: tuple[Frame, Frame],
        reward: np.ndarray,
        ends: Values,
        *,
        batched: bool,
    ) -> None:
        self.before_policy: Callable[[], None] | None = None
        self.policy = policy
        self._envs = envs
        self._observed = observed
        self._stepping = list(stepping)
        self._frames = frames
        self._keys = list(keys)
        self._reward = reward
        self._ends = ends
        self._batched = batched

    def run(self, collector: Collector, batch: TensorDictBase, steps: int, draw: Callable[[], Tensor] | None) -> None:
        """Step into ``batch``, ``steps`` times or until the collector is interrupted.

        ``draw``, if given, acts in place of the policy.
        """
        memory = Memory(batch, self._keys, batched=self._batched)
        carrier, interruptor = collector._carrier, collector.interruptor
        now, after = self._frames
        now.load(carrier)
        written = self._writes()
        for transform in self._stepping:
            transform.begin(now)
        trajectories, ended = Trajectories(collector), list[tuple[int, Ends]]()
        # What the policy said last is said again by frames with random actions.
        kept: Values = {key: carrier.get(key) for key in self.policy.writes if key in carrier.keys(True, True)}
        values: Values = {}
        over: list[int] = []
        step = -1
        for step in range(steps):
            values = {**kept, **self._ends, **now.tensors}
            self._act(values, draw)
            if step == 0:
                memory.check(values, self.policy.writes, batched=self._batched)
            ends = self._step(values["action"], now, after)
            self._write(memory.arrays, step, values, now, after)
            over = []
            if ends is not None:
                ended.append((step, ends))
                over = ends.which()
                self._reset(over, after)
                trajectories.end(step, over)
                if draw is not None:
                    kept = self._left(values, over)
            now, after = after, now
            if interruptor is not None and interruptor.collection_stopped():
                break
        memory.write_ends(step + 1, ended)
        for key, tensor in now.tensors.items():
            carrier.set(key, tensor.clone())
        for key, tensor in self._left(values, over).items():
            carrier.set(key, tensor)
        carrier.set(TRAJECTORY, trajectories.write(memory, step + 1))
        if self._writes() != written:
            raise RuntimeError(
                "the policy writes into its observation, which TorchRL's frames then show twice; clone it there, or "
                "set collection.rollout to TorchRL"
            )

    def _writes(self) -> int:
        """Grows whenever the policy writes into what it is given."""
        return sum(frame.writes() for frame in self._frames) + sum(end._version for end in self._ends.values())

    def _act(self, values: Values, draw: Callable[[], Tensor] | None) -> None:
        if draw is not None:
            values["action"] = draw()
            return
        if self.before_policy is not None:
            self.before_policy()
        self.policy(values)

    def _left(self, values: Values, over: Sequence[int]) -> Values:
        """What the policy said, as it is left for the next step: a reset of some environments, not all, makes zeros."""
        found = {key: values[key].clone() for key in self.policy.writes if key in values}
        if 0 < len(over) < len(self._envs):
            for tensor in found.values():
                tensor[over] = 0
        return found

    def _step(self, action: Tensor, now: Frame, after: Frame) -> Ends | None:
        """Write ``after``; returns who is at an end, None if nobody is."""
        seen = after.arrays[self._envs.key]
        target = seen if self._observed is None else self._observed[0]
        terminated, truncated = self._envs.step(action if self._batched else action.unsqueeze(0), target, self._reward)
        if self._observed is not None:
            seen[...] = self._observed[1].apply(target)
        cuts = [cut for one in self._stepping if (cut := one.step(now, after, self._reward)) is not None]
        if not (cuts or True in terminated or True in truncated):
            return None
        ends = Ends(terminated, truncated)
        for cut in cuts:
            ends.cut(cut)
        return ends

    def _write(self, arrays: dict[Any, np.ndarray], step: int, values: Values, now: Frame, after: Frame) -> None:
        for key, array in now.arrays.items():
            arrays[key][:, step] = array
        for key, array in after.arrays.items():
            there = arrays.get(("next", key))
            if there is not None:  # compact observations are not there
                there[:, step] = array
        arrays["next", "reward"][:, step] = self._reward
        for key in self.policy.writes:
            if key in values:
                arrays[key][:, step] = values[key].detach().numpy()

    def _reset(self, which: Sequence[int], frame: Frame) -> None:
        seen = frame.arrays[self._envs.key]
        if self._observed is None:
            self._envs.reset(which, seen)
        else:
            raw, observed = self._observed
            self._envs.reset(which, raw)
            seen[which] = observed.apply(raw[which])
        for transform in self._stepping:
            transform.reset(frame, which)
