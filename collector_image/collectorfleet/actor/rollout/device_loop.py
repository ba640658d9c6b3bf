"""Make the steps of one rollout with an environment that consists of batched tensors, on any device.

A step launches kernels and does not wait for their results. The loop reads results that the host needs, such as the
number of ended trajectories, only after the rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.collectors import Collector

from collectorfleet.actor.origin import Origin, calling, mark
from collectorfleet.actor.rollout.exact import require
from collectorfleet.actor.rollout.loop import CLONE, WRITES, LeftOver
from collectorfleet.actor.rollout.memory import ENDS, TRAJECTORY
from collectorfleet.actor.rollout.ownership import owned, same_bytes
from collectorfleet.actor.rollout.policies import Policy
from collectorfleet.actor.rollout.recording import GraphedFunction, Values
from collectorfleet.actor.rollout.tensor_environment import TensorEnvironment, version_of, zeroed_by_partial_reset
from collectorfleet.actor.rollout.tensor_memory import Rows, SameKeys, ends_of, ids_of, require_begun
from collectorfleet.torchrl_private.collectors import carrier_of

CHANGES: Final = "the environment's step changes its input"

_MASK: Final = "mask"
_OUTPUTS, _REACHED, _FOLLOWING = "outputs", "reached", "following"


class DeviceLoop:
    """The loop for an environment that consists of batched tensors. One loop object makes many rollouts.

    Args:
        keys: all keys of a batch.
        device: the device of environment and policy.
        records: whether the loop records policy and environment as one CUDA graph.
    """

    def __init__(
        self, envs: TensorEnvironment, policy: Policy, keys: Iterable[Any], device: torch.device, *, records: bool
    ) -> None:
        self.before_policy: Callable[[], None] | None = None
        self.policy = policy
        self.envs = envs
        self._keys = list(keys)
        self._device = device
        self._tried = False
        self._keys_before = SameKeys(self._keys)
        self._keys_after = SameKeys(key[1] for key in self._keys if isinstance(key, tuple) and key[0] == "next")
        self._kept: dict[Any, Tensor] = {}  # memory on the device, for a batch on another device
        self.records_steps = records
        self._recorded = GraphedFunction(self._whole_step)

    @property
    def name(self) -> str:
        """The name of the loop, as the fleet's status shows it."""
        name = f"Fast, with tensors on {self._device}"
        if self.records_steps:
            return f"{name}, as a CUDA graph"
        if self.policy.is_recorded:
            return f"{name}, the policy as a CUDA graph: {self.envs.capture_problem}"
        if self.envs.waits and self._device.type != "cpu":
            return f"{name}: each step waits for the device, because {self.envs.waits}"
        return name

    def run(self, collector: Collector, batch: TensorDictBase, steps: int, *, random: bool) -> LeftOver | None:
        """Make ``steps`` steps into ``batch``, or fewer if the collector is interrupted.

        If ``random`` is true, actions are random, and the loop does not call the policy. If the policy or the
        environment begins to write into its inputs, the loop stops after that step. The method then returns the
        remaining steps, which TorchRL's loop has to make. Otherwise the method returns None.

        Raises:
            FastLoopUnsupported: policy or environment wrote into its inputs in a step after which TorchRL's loop cannot
                continue.
        """
        carrier, interruptor = carrier_of(collector), collector.interruptor
        is_carrier = carrier.device == self.envs.env.device
        memory = self._memory(batch)
        rows = Rows(memory, self.policy.writes)
        self.policy.begin()
        now = self.envs.read(carrier)
        outputs: Values = {key: carrier.get(key) for key in self.policy.writes if key != "action" and key in carrier}
        mask: Tensor | None = None
        written: list[str] = []
        changed: Values = {}
        interrupted = False
        step = 0
        for step in range(steps):
            if random:
                outputs = {**self._left(outputs, mask), "action": self._random_action(collector)}
            elif self.records_steps and self._tried:
                rows.write(step, now)
                outputs, reached, now, mask = self._replay(now)
                rows.write(step, outputs)
                rows.write_next(step, reached)
                interrupted = interruptor is not None and interruptor.collection_stopped()
                if interrupted:
                    break
                continue
            else:
                now, outputs, written = self._ask(now)
                if written and step:
                    self._share(rows, step, written, now, mask, WRITES)
            self._keys_before.check(now)
            rows.write(step, now)
            reached = self._step(now, outputs)
            self._keys_after.check(reached)
            changed = self.envs.changed_input(reached)
            if changed:
                into = [key for key, tensor in changed.items() if tensor is now.get(key)]
                # TorchRL's loop passes either its carrier or a copy of the carrier to the environment. If TorchRL
                # passes the carrier itself, TorchRL's frames have the entries that the environment sets in its input.
                shown = {
                    key: tensor for key, tensor in changed.items() if is_carrier or key in into or key not in outputs
                }
                rows.write(step, {key: shown[key] for key in now if key in shown and (is_carrier or key in into)})
                # If an entry was written in place, the previous step's ``next`` has the written value, too. Replaced
                # entries do not affect the previous step.
                if step and into:
                    self._share(rows, step, into, now, mask, CHANGES)
                now = {key: changed.get(key, tensor) for key, tensor in now.items()}
                outputs |= {key: tensor for key, tensor in shown.items() if key not in now}
            # The outputs are written to the batch after the step. The environment may write into its action, and
            # TorchRL's frames have the written action.
            rows.write(step, outputs)
            # The results of the step are written to the batch before the reset, because a reset may write into these
            # tensors.
            rows.write_next(step, reached)
            now, mask = self._go_on(now, reached)
            interrupted = interruptor is not None and interruptor.collection_stopped()
            if interrupted or written or changed:
                break
        taken = step + 1
        self._end(collector, batch, memory, taken, now, self._left(outputs, mask))
        self._bring(memory, batch, taken)
        if not (written or changed):
            return None
        why = WRITES if written else CHANGES
        return LeftOver(steps if interrupted else taken, shares=self._shares(mask), why=why)

    def methods_of_environments(self) -> list[Any]:
        """Return the present values of the attributes that affect a step of the environment."""
        return self.envs.assigned()

    def _memory(self, batch: TensorDictBase) -> Mapping[Any, Tensor]:
        """Return tensors ``[environments, steps, ...]`` on the device.

        For a tensor of the batch on another device, the result has separate memory on the loop's device. This memory is
        reused in later rollouts.
        """
        entries = {key: entry for key in self._keys if (entry := batch.get(key, None)) is not None}
        for key in ENDS:
            # A hook may have removed this entry from the batch. The loop needs the entry to count trajectories.
            if key in self.envs.env.done_keys and ("next", key) not in entries:
                entries["next", key] = torch.empty((*batch.shape, 1), dtype=torch.bool, device=self._device)
        return {key: self._on_device(key, entry) for key, entry in entries.items()}

    def _on_device(self, key: Any, entry: Tensor) -> Tensor:
        if entry.device == self._device:
            return entry
        kept = self._kept.get(key)
        if kept is None or kept.shape != entry.shape:
            kept = self._kept[key] = torch.empty_like(entry, device=self._device)
        return kept

    def _bring(self, memory: Mapping[Any, Tensor], batch: TensorDictBase, taken: int) -> None:
        """Copy the memory on the loop's device into the batch, if the batch is on another device."""
        for key, entry in memory.items():
            target = batch.get(key, None)
            if target is not None and target is not entry and key != TRAJECTORY:
                target[:, :taken].copy_(entry[:, :taken])

    def _random_action(self, collector: Collector) -> Tensor:
        empty = TensorDict(batch_size=collector.env.batch_size, device=collector.env.device)
        action: Tensor = collector.env.rand_action(empty).get("action")
        return action

    def _ask(self, now: Values) -> tuple[Values, Values, list[str]]:
        """Call the policy. Return its inputs, its outputs, and the keys of the inputs that the policy wrote into."""
        if not self._tried:
            # In the first call, the policy gets copies of its inputs. The loop compares the copies with the inputs,
            # because torch's write counts miss some writes.
            self._tried = True
            shown = {**now, **{key: now[key].clone() for key in self.policy.reads}}
            outputs = self._act(shown)
            written = [key for key in self.policy.reads if not same_bytes(shown[key], now[key])]
            now = shown if written else now
        else:
            versions = [version_of(now[key]) for key in self.policy.reads]
            outputs = self._act(now)
            both = zip(self.policy.reads, versions, strict=True)
            written = [key for key, version in both if version_of(now[key]) != version]
        for key in written:
            require(key not in ENDS, f"the policy writes into the counter {key}; {CLONE}")
        return now, outputs, written

    def _act(self, now: Values) -> Values:
        if self.before_policy is not None:
            self.before_policy()
        values = dict(now)
        try:
            self.policy(values)
        except BaseException as error:
            mark(error, Origin.POLICY)
            raise
        # An output may be a view of the weights, or memory that the next replay overwrites. Because the environment may
        # keep a reference to the output, such outputs are copied.
        return {key: owned(values.pop(key)).to(self._device) for key in self.policy.writes}

    def _step(self, now: Values, outputs: Values) -> Values:
        with calling(Origin.ENVIRONMENT):
            return self.envs.step(now, outputs)

    def _go_on(self, now: Values, reached: Values) -> tuple[Values, Tensor | None]:
        with calling(Origin.ENVIRONMENT):
            return self.envs.reset_ended(now, reached)

    def _whole_step(self, now: Values) -> Values:
        """Call the policy, step the environment, and reset it. :class:`GraphedFunction` records this method."""
        values = dict(now)
        self.policy(values)
        outputs = {key: values[key] for key in self.policy.writes}
        with calling(Origin.ENVIRONMENT), self.envs.written_in_place():
            # The tensors are copied, because the reset may write into the tensors that the step returned.
            reached = {key: tensor.clone() for key, tensor in self.envs.step(now, outputs).items()}
            following, mask = self.envs.reset_ended(now, reached)
        made: Values = {} if mask is None else {_MASK: mask}
        for name, entries in ((_OUTPUTS, outputs), (_REACHED, reached), (_FOLLOWING, following)):
            made |= {(name, key): tensor for key, tensor in entries.items()}
        return made

    def _replay(self, now: Values) -> tuple[Values, Values, Values, Tensor | None]:
        if self.before_policy is not None:
            self.before_policy()
        made = self._recorded(now)
        parts: dict[str, Values] = {_OUTPUTS: {}, _REACHED: {}, _FOLLOWING: {}}
        for key, tensor in made.items():
            if key != _MASK:
                parts[key[0]][key[1]] = tensor
        return parts[_OUTPUTS], parts[_REACHED], parts[_FOLLOWING], made.get(_MASK)

    def _share(self, rows: Rows, step: int, written: Sequence[str], now: Values, mask: Tensor | None, why: str) -> None:
        """Copy the changed inputs of this step into ``next`` of the previous step.

        ``written`` are the keys of the inputs that policy or environment changed. TorchRL's loop has the same tensors
        in both places.
        """
        some = mask is not None and bool(mask.any()) and not bool(mask.all())
        require(not some, f"{why} when some environments have just been reset; {CLONE}")
        if self._shares(mask):
            rows.write_next(step - 1, {key: now[key] for key in written})

    def _shares(self, mask: Tensor | None) -> bool:
        """Return whether ``next`` of this step and the following observation share memory in TorchRL's loop."""
        return self.envs.shares_observations and (mask is None or not bool(mask.any()))

    def _left(self, outputs: Values, mask: Tensor | None) -> Values:
        """Return the outputs that the policy leaves in TorchRL's carrier for the next step."""
        kept = {key: tensor for key, tensor in outputs.items() if key != "action"}
        if mask is None:
            return {key: tensor.clone() for key, tensor in kept.items()}
        return {key: zeroed_by_partial_reset(tensor, mask) for key, tensor in kept.items()}

    def _end(
        self,
        collector: Collector,
        batch: TensorDictBase,
        memory: Mapping[Any, Tensor],
        taken: int,
        now: Values,
        left: Values,
    ) -> None:
        """Write the trajectory ids, and store the last state in TorchRL's carrier for the next rollout."""
        carrier = carrier_of(collector)
        ended = ends_of(memory, taken)
        if not self.envs.allows_done_after_reset:
            require_begun(memory, now, taken, ended)
        before = carrier.get(TRAJECTORY)
        ids = ids_of(collector, ended, before)
        target = batch.get(TRAJECTORY, None)
        if target is not None:
            target.fill_(-1)
            target[:, 0].copy_(before)
            target[:, 1:taken].copy_(ids[:, : taken - 1])
        for key, tensor in {**now, **left}.items():
            carrier.set(key, tensor.clone())
        carrier.set(TRAJECTORY, ids[:, -1].to(before.device, before.dtype, copy=True))
