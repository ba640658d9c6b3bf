"""Make the steps of one rollout. The first observation comes from TorchRL's carrier. Frames go into TorchRL's batch.

Between two rollouts the whole state is in TorchRL's collector. So the other methods of TorchRL's collector (``reset``,
``load_state_dict``, ``set_seed``) work unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.origin import Origin, mark
from collectorfleet.actor.rollout.ends import Ends, RolloutEnds
from collectorfleet.actor.rollout.environments import Stepped
from collectorfleet.actor.rollout.exact import require
from collectorfleet.actor.rollout.memory import TRAJECTORY, Memory
from collectorfleet.actor.rollout.ownership import same_bytes
from collectorfleet.actor.rollout.policies import Policy
from collectorfleet.actor.rollout.recording import Values
from collectorfleet.actor.rollout.stage import Frame, PolicyRows, Stage
from collectorfleet.actor.rollout.transforms import Observed, Stepping
from collectorfleet.actor.rollout.writes import WriteCounts
from collectorfleet.torchrl_private.collectors import carrier_of

WRITES: Final = "the policy writes into its observation"

CLONE: Final = "write to a clone of the tensor, or set collection.rollout to TorchRL"

WRITES_EARLIER: Final = f"{WRITES} of an earlier step; {CLONE}"

# The loop checks this number of memory blocks of earlier steps. More blocks would take too much memory.
_MOST_EARLIER: Final = 4


class LeftOver(NamedTuple):
    """The steps of a rollout that TorchRL's loop has to make.

    Args:
        begins: the first of these steps.
        shares: whether the observation of the first step shares memory with ``next`` of the previous step in TorchRL's
            loop.
        why: the reason why the fast loop stopped.
        check: call this after the remaining steps. It raises FastLoopUnsupported if the policy has meanwhile written
            into an observation of the fast loop's steps.
    """

    begins: int
    shares: bool
    why: str = WRITES
    check: Callable[[], None] = lambda: None


class Loop:
    """The loop for Gymnasium environments with common transforms. One loop object makes many rollouts.

    Args:
        keys: all keys of a batch.
        observed: the array for raw observations, ``[environments, *shape]``, and the transforms that turn raw
            observations into observations. None: the observations are not transformed.
        ends: the entries among ``done``, ``terminated`` and ``truncated`` that the policy reads. At the start of a
            step, these entries are always False.
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
        self._tried = False
        # Memory that the policy got in earlier steps of the rollout, with torch's write counts.
        self._earlier: list[tuple[Any, WriteCounts]] = []

    def run(self, collector: Collector, batch: TensorDictBase, steps: int, *, random: bool) -> LeftOver | None:
        """Make ``steps`` steps into ``batch``, or fewer if the collector is interrupted.

        If ``random`` is true, actions are random, and the loop does not call the policy. If the policy begins to write
        into its observations, the loop stops after that step. The method then returns the remaining steps, which
        TorchRL's loop has to make. Otherwise the method returns None.

        Raises:
            FastLoopUnsupported: the policy wrote into its observations in a step after which TorchRL's loop cannot
                continue.
        """
        memory = Memory(batch, self._keys, batched=self._batched)
        carrier, interruptor = carrier_of(collector), collector.interruptor
        stage = self._stage
        stage.begin(carrier)
        counts = self._write_counts()
        self._earlier = []
        shown: list[Any] = [None] * stage.steps
        self.policy.begin()
        if self._observed is not None:
            self._observed[1].begin()
        for transform in self._stepping:
            transform.begin(stage.frames[0])
        ended = RolloutEnds()
        # Frames with random actions keep the last outputs of the policy, except for the action.
        kept: Values = {key: carrier.get(key) for key in self.policy.writes if key in carrier.keys(True, True)}
        values: Values = {}
        outputs: list[PolicyRows] = []
        ends: Ends | None = None
        over: list[int] = []
        copied = row = 0
        written: Values = {}
        interrupted = False
        for step in range(steps):
            row = step - copied
            if row == stage.steps:
                # Reading torch's write counts in each step would take long. Wrong frames are still refused, because no
                # step of the stage is in the batch yet.
                written = self._late_writes(counts, shown)
                if written:
                    step, row = step - 1, row - 1  # noqa: PLW2901  (the last step that was made)
                    break
                memory.write(stage, [one.key for one in outputs], copied, row)
                values = {}  # Drop references to the last frame: the stage overwrites only frames without references.
                used = stage.memory, counts
                stage.begin_again()
                self._keep_counts(*used)
                counts = self._write_counts()
                copied, row = step, 0
            now, after = stage.frames[row], stage.frames[row + 1]
            values = {**kept, **self._ends, **now.tensors}
            if random:
                values["action"] = collector.env.rand_action(TensorDict(batch_size=collector.env.batch_size)).get(
                    "action"
                )
            elif self._tried:
                shown[row] = before = now.read_inputs()
                self._act(values)
                if now.read_inputs() != before:
                    written = self._writes(now, before, self._late_writes(counts, shown[:row]), over, row)
                    if row == 0 and step and not over:
                        memory.write_next(step - 1, now)
            else:
                written = self._try(values)
            if step == 0:
                outputs = stage.output_rows(values, random=random)
            ends = self._step(values["action"], now, after, stage.rewards[row])
            if written:
                # The written observations are copied after the step, because a stack of frames uses the environment's
                # original observation.
                for key, tensor in written.items():
                    now.tensors[key].copy_(tensor)
            # The outputs are written to the batch after the step. The environment may write into its action, and
            # TorchRL's frames have the written action.
            for one in outputs:
                one.write(row, values[one.key])
            over = []
            if ends is not None:
                ended.add(step, ends)
                over = ends.which
                stage.end(row, over)
                self._reset(over, after)
                if random:
                    kept = self._left(values, over)
            interrupted = interruptor is not None and interruptor.collection_stopped()
            if interrupted or written:
                break
        written = written or self._late_writes(counts, shown[: row + 1])
        self._require_earlier_unwritten()
        memory.write(stage, [one.key for one in outputs], copied, row + 1)
        memory.write_ends(step + 1, ended)
        self._envs.store_state(ends)
        if self._observed is not None:
            self._observed[1].store_state(stage.frames[row + 1])
        for key, tensor in stage.frames[row + 1].tensors.items():
            carrier.set(key, tensor.clone())
        for key, tensor in self._left(values, over).items():
            carrier.set(key, tensor)
        carrier.set(TRAJECTORY, memory.write_trajectories(step + 1, ended, collector))
        if not written:
            return None
        self._earlier.append((stage.memory, self._write_counts()))
        return LeftOver(steps if interrupted else step + 1, shares=not over, check=self._require_earlier_unwritten)

    def methods_of_environments(self) -> list[Any]:
        """Return the present methods of the environments that the loop calls."""
        return self._envs.methods()

    def _act(self, values: Values) -> None:
        if self.before_policy is not None:
            self.before_policy()
        try:
            self.policy(values)
        except BaseException as error:
            mark(error, Origin.POLICY)
            raise

    def _try(self, values: Values) -> Values:
        """Call the policy for the first time. Return the inputs that the policy wrote into.

        The policy gets copies of its inputs. The copies are then compared with the inputs, so every write is detected.
        """
        self._tried = True
        shown = {key: values[key].clone() for key in self.policy.reads}
        asked = {**values, **shown}
        self._act(asked)
        values.update({key: asked[key] for key in self.policy.writes})
        written = {key: tensor for key, tensor in shown.items() if not same_bytes(tensor, values[key])}
        self._earlier.append((shown, WriteCounts(shown)))
        self._require_of_environment(written)
        return written

    def _writes(self, now: Frame, before: Any, late: Iterable[str], over: Sequence[int], row: int) -> Values:
        """Return the inputs ``late``, and the inputs that changed since ``now.read_inputs`` returned ``before``."""
        # Torch counts the writes into all frames together. If the sample of a large input is unchanged, the write may
        # be into an earlier frame.
        earlier = row > 0 and not now.inputs.differs(before) and self._stage.is_kept(row)
        require(not earlier, WRITES_EARLIER)
        changed = {*late, *now.inputs.changed(before)}
        self._require_followed(changed, over)
        return {key: now.tensors[key] for key in changed}

    def _write_counts(self) -> WriteCounts:
        tensors = {**self._stage.memory, **self._ends}
        # The policy gets only the tensors that it reads.
        return WriteCounts({key: tensor for key, tensor in tensors.items() if key in self.policy.reads})

    def _late_writes(self, counts: WriteCounts, shown: Sequence[Any]) -> Values:
        """Return the inputs that the policy wrote into without a change of the step's bytes.

        ``shown`` has the inputs of the steps in the stage, as the policy got them. A late write leaves all bytes
        unchanged, or goes to a kept input of an earlier step. In the second case, raise FastLoopUnsupported, because
        the policy may also write into the inputs that it keeps when TorchRL's loop has taken over.
        """
        # Torch does not count writes through ``.data`` or numpy.
        changed = [*counts.changed(), *(key for key, tensor in self._ends.items() if tensor.any())]
        if changed:
            self._require_followed(changed, ())
            for frame, before in zip(self._stage.frames, shown, strict=False):
                require(before is None or not frame.inputs.differs(before), WRITES_EARLIER)
        return {key: self._stage.memory[key] for key in changed}

    def _keep_counts(self, memory: Values, counts: WriteCounts) -> None:
        """Check the memory of earlier steps. Keep ``counts`` of ``memory`` if the stage has replaced this memory."""
        self._require_earlier_unwritten()
        now = self._stage.memory
        kept = [*self._earlier, (memory, counts)]
        self._earlier = [(each, its) for each, its in kept if each is not now][-_MOST_EARLIER:]

    def _require_earlier_unwritten(self) -> None:
        """Raise FastLoopUnsupported if the policy wrote into memory whose steps are already in the batch."""
        require(not any(counts.changed() for _, counts in self._earlier), WRITES_EARLIER)

    def _require_followed(self, written: Iterable[str], over: Sequence[int]) -> None:
        """Raise FastLoopUnsupported if TorchRL's loop cannot continue after a write into these entries.

        ``over`` are the environments that have just been reset.
        """
        self._require_of_environment(written)
        stacked = self._observed is not None and self._observed[1].reads_frames
        require(not stacked, f"{WRITES}, from which CatFrames builds the next one; {CLONE}")
        # In this loop, environments that were not reset share the written memory with the previous frame. TorchRL's
        # loop would keep the old values in the previous frame.
        require(len(over) in (0, len(self._envs)), f"{WRITES} when some environments have just been reset; {CLONE}")

    def _require_of_environment(self, written: Iterable[str]) -> None:
        for key in written:
            require(key == self._envs.key, f"the policy writes into the counter {key}; {CLONE}")

    def _left(self, values: Values, over: Sequence[int]) -> Values:
        """Return the policy's outputs that stay in TorchRL's carrier for the next step.

        If only some environments were reset, the outputs of these environments are zero.
        """
        found = {key: values[key].clone() for key in self.policy.writes if key in values}
        if 0 < len(over) < len(self._envs):
            for tensor in found.values():
                tensor[over] = 0
        return found

    def _step(self, action: Tensor, now: Frame, after: Frame, reward: np.ndarray) -> Ends | None:
        """Step the environments, and write ``after`` and ``reward``.

        Return the ended episodes, or return None if no episode ended.
        """
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
