"""The steps of one rollout, from TorchRL's carrier to TorchRL's memory.

Between two rollouts all that is known is where TorchRL's collector has it, so that its other methods (``reset``,
``load_state_dict``, ``set_seed``) need no form of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.origin import Origin, calling, mark
from collectorfleet.actor.rollout.ends import Ended, Ends
from collectorfleet.actor.rollout.environments import Stepped
from collectorfleet.actor.rollout.memory import TRAJECTORY, Memory
from collectorfleet.actor.rollout.policies import Policy, Values
from collectorfleet.actor.rollout.stage import Frame, Stage
from collectorfleet.actor.rollout.transforms import Observed, Stepping

_WRITES: Final = (
    "the policy writes into its observation, which TorchRL's frames then show twice; clone it there, or "
    "set collection.rollout to TorchRL"
)


class Loop:
    """What a collector steps, found once.

    Args:
        keys: all that a batch has.
        observed: where environments write what they see, ``[environments, *shape]``, and what makes the observation of
            it; None if it is the observation.
        ends: nobody is at an end: what the policy reads of it.
    """

    name = "Fast"

    def __init__(
        self,
        envs: Stepped,
        observed: tuple[np.ndarray, Observed] | None,
        stepping: Sequence[Stepping],
        policy: Policy,
        keys: Iterable[Any],
        stage: Stage,
        ends: Values,
        *,
        batched: bool,
    ) -> None:
        self.before_policy: Callable[[], None] | None = None
        self.policy = policy
        self._envs = envs
        self._observed = observed
        self._stepping = list(stepping)
        self._keys = list(keys)
        self._stage = stage
        self._ends = ends
        self._batched = batched
        self._asked = False

    def run(self, collector: Collector, batch: TensorDictBase, steps: int, *, random: bool) -> None:
        """Step into ``batch``, ``steps`` times or until the collector is interrupted; ``random`` asks no policy."""
        memory = Memory(batch, self._keys, batched=self._batched)
        carrier, interruptor = collector._carrier, collector.interruptor
        stage = self._stage
        stage.begin(carrier)
        written = self._writes()
        self.policy.begin()
        for transform in self._stepping:
            transform.begin(stage.frames[0])
        ended = Ended()
        # What the policy said last is said again by frames with random actions.
        kept: Values = {key: carrier.get(key) for key in self.policy.writes if key in carrier.keys(True, True)}
        values: Values = {}
        said: list[tuple[Any, np.ndarray]] = []
        ends: Ends | None = None
        over: list[int] = []
        copied = row = 0
        for step in range(steps):
            row = step - copied
            if row == stage.steps:
                memory.write(stage, [key for key, _ in said], copied, row)
                stage.begin_again()
                copied, row = step, 0
            now, after = stage.frames[row], stage.frames[row + 1]
            values = {**kept, **self._ends, **now.tensors}
            if random:
                values["action"] = collector.env.rand_action(TensorDict(batch_size=collector.env.batch_size)).get(
                    "action"
                )
            else:
                self._act(values)
            if step == 0:
                said = stage.said_by(values, random=random)
            ends = self._step(values["action"], now, after, stage.rewards[row])
            # Not before: an environment may write into its action, and TorchRL's frames show what it wrote.
            for key, rows in said:
                tensor = values[key]
                rows[row] = (tensor.detach() if tensor.requires_grad else tensor).numpy()
            over = []
            if ends is not None:
                ended.add(step, ends)
                over = ends.which
                stage.end(row, over)
                self._reset(over, after)
                if random:
                    kept = self._left(values, over)
            if interruptor is not None and interruptor.collection_stopped():
                break
        memory.write(stage, [key for key, _ in said], copied, row + 1)
        memory.write_ends(step + 1, ended)
        self._envs.leave(ends)
        if self._observed is not None:
            self._observed[1].leave(stage.frames[row + 1])
        for key, tensor in stage.frames[row + 1].tensors.items():
            carrier.set(key, tensor.clone())
        for key, tensor in self._left(values, over).items():
            carrier.set(key, tensor)
        carrier.set(TRAJECTORY, memory.write_trajectories(step + 1, ended, collector))
        if self._writes() != written:
            raise RuntimeError(_WRITES)

    def _writes(self) -> int:
        """Grows whenever the policy writes into what it is given."""
        return self._stage.writes() + sum(end._version for end in self._ends.values())

    def _act(self, values: Values) -> None:
        if self.before_policy is not None:
            self.before_policy()
        if self._asked:
            try:
                self.policy(values)
            except BaseException as error:
                mark(error, Origin.POLICY)
                raise
            return
        self._asked = True
        # Torch does not count what is written by ``.data`` or as an array: seen in the first step, if it does so there.
        read = {key: values[key] for key in self.policy.reads}
        before = {key: tensor.clone() for key, tensor in read.items()}
        with calling(Origin.POLICY):
            self.policy(values)
        if not all(_same_bytes(tensor, before[key]) for key, tensor in read.items()):
            raise RuntimeError(_WRITES)

    def _left(self, values: Values, over: Sequence[int]) -> Values:
        """What the policy said, as it is left for the next step: a reset of some environments, not all, makes zeros."""
        found = {key: values[key].clone() for key in self.policy.writes if key in values}
        if 0 < len(over) < len(self._envs):
            for tensor in found.values():
                tensor[over] = 0
        return found

    def _step(self, action: Tensor, now: Frame, after: Frame, reward: np.ndarray) -> Ends | None:
        """Write ``after`` and ``reward``; returns who is at an end, None if nobody is."""
        target = after.arrays[self._envs.key] if self._observed is None else self._observed[0]
        try:
            ends = self._envs.step(action if self._batched else action.unsqueeze(0), target, reward)
        except BaseException as error:
            mark(error, Origin.ENVIRONMENT)
            raise
        if self._observed is not None:
            self._observed[1].step(target, now, after)
        for transform in self._stepping:
            cut = transform.step(now, after, reward)
            if cut is not None:
                ends = ends or Ends()
                ends.cut(cut)
        return ends

    def _reset(self, which: Sequence[int], frame: Frame) -> None:
        target = frame.arrays[self._envs.key] if self._observed is None else self._observed[0]
        try:
            self._envs.reset(which, target)
        except BaseException as error:
            mark(error, Origin.ENVIRONMENT)
            raise
        if self._observed is not None:
            self._observed[1].reset(target, which, frame)
        for transform in self._stepping:
            transform.reset(frame, which)


def _same_bytes(one: Tensor, other: Tensor) -> bool:
    """Whether they are the same where numbers are NaN, too."""
    return one.numpy().tobytes() == other.numpy().tobytes()
