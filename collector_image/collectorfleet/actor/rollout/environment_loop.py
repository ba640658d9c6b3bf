"""Make the steps of one rollout with an environment that TorchRL's methods have to step.

The loop calls ``step_and_maybe_reset`` of the environment, which also applies the transforms. The loop is faster than
TorchRL's loop because it calls the policy without a TensorDict, and stacks tensors instead of TensorDicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.collectors import Collector

from collectorfleet.actor.origin import Origin, calling, mark
from collectorfleet.actor.rollout.memory import TRAJECTORY, missing_entry, name_of_entry
from collectorfleet.actor.rollout.ownership import owned
from collectorfleet.actor.rollout.policies import Policy
from collectorfleet.torchrl_private.collectors import (
    carrier_of,
    casts_to_environment,
    lacks_device,
    set_carrier,
    update_trajectories,
)


class EnvironmentLoop:
    """The loop for an environment that TorchRL's methods step. One loop object makes many rollouts.

    Args:
        keys: all keys of a batch except the key of the trajectory ids.
        reads: the entries of the environment that the policy reads.
        why: the reason why TorchRL's methods have to step the environment.
    """

    def __init__(self, policy: Policy, keys: Iterable[Any], reads: Iterable[Any], why: str) -> None:
        self.before_policy: Callable[[], None] | None = None
        self.policy = policy
        self.name = f"Fast, by the environment's own step: {why}"
        self._keys = list(keys)
        self._reads = list(reads)
        self._delivered: set[Any] = set()  # entries of the environment in earlier rollouts

    def run(self, collector: Collector, batch: TensorDictBase, steps: int, *, random: bool) -> None:
        """Make ``steps`` steps into ``batch``, or fewer if the collector is interrupted.

        If ``random`` is true, actions are random, and the loop does not call the policy.
        """
        env, interruptor = collector.env, collector.interruptor
        ends = env.done_keys
        self.policy.begin()
        carrier = carrier_of(collector)
        outputs: dict[Any, list[Any]] = {key: [] for key in (*self._keys, TRAJECTORY)}
        taken = 0
        while taken < steps:
            if random:
                env.rand_action(carrier)
            else:
                self._act(carrier)
            # ``given`` and ``carrier`` are the same TensorDict, unless only the environment has a device.
            cast = casts_to_environment(collector) and collector.env_device is not None
            given = carrier.to(collector.env_device) if cast else carrier
            try:
                output, following = env.step_and_maybe_reset(given)
            except BaseException as error:
                mark(error, Origin.ENVIRONMENT)
                raise
            reached = output.get("next")
            if output is not carrier:
                carrier.set("next", reached.clear_device_() if lacks_device(collector) else reached)
            for key, rows in outputs.items():
                rows.append(carrier.get(key))
            following.set("collector", carrier.get("collector").copy())
            if lacks_device(collector):
                following.clear_device_()
            carrier = following
            set_carrier(collector, carrier)
            if any(reached.get(end).any() for end in ends):
                update_trajectories(collector, output)
            taken += 1
            if interruptor is not None and interruptor.collection_stopped():
                break
        batch.get(TRAJECTORY).fill_(-1)
        time = batch.ndim - 1
        for key, rows in outputs.items():
            # ``entry`` is None if a hook has removed the entry from the batch.
            entry = batch.get(key)
            if entry is not None and self._has(key, rows):
                self._stack(key, rows, time, entry.narrow(time, 0, taken))

    def methods_of_environments(self) -> list[Any]:
        """Return an empty list, because this loop looks up the environment's methods at each call."""
        return []

    def _act(self, carrier: TensorDictBase) -> None:
        if self.before_policy is not None:
            self.before_policy()
        values = {key: carrier.get(key) for key in self._reads}
        try:
            self.policy(values)
        except BaseException as error:
            mark(error, Origin.POLICY)
            raise
        for key in self.policy.writes:
            carrier.set(key, owned(values.pop(key)))

    def _has(self, key: Any, rows: list[Any]) -> bool:
        """Return whether the steps of this rollout have the entry ``key``.

        Like TorchRL, this method accepts an entry that no step has. For example, steps with random actions have no
        outputs of the policy before the first call of the policy.

        Raises:
            ValueError: only some steps have the entry. The method also raises this error if no step has the entry, but
                an earlier rollout had it.
        """
        missing = sum(row is None for row in rows)
        if not missing:
            if key not in self.policy.writes:
                self._delivered.add(key)
            return True
        if missing == len(rows) and key not in self._delivered:
            return False
        with calling(Origin.POLICY if key in self.policy.writes else Origin.ENVIRONMENT):
            raise missing_entry(name_of_entry(key), f"in {missing} of {len(rows)} steps of a rollout")

    def _stack(self, key: Any, rows: list[torch.Tensor], time: int, entry: torch.Tensor) -> None:
        """Write the rows of one key into the batch.

        If a shape is wrong, the origin of the error is the code that wrote the key: the policy or the environment.
        """
        with calling(Origin.POLICY if key in self.policy.writes else Origin.ENVIRONMENT):
            by_spec = torch.Size((*entry.shape[:time], *entry.shape[time + 1 :]))
            found = list(dict.fromkeys(tuple(row.shape) for row in rows))
            if found != [tuple(by_spec)]:
                raise ValueError(
                    f"{name_of_entry(key)} has the shapes {' and '.join(map(str, found))} in one rollout, but "
                    f"its spec has {tuple(by_spec)}; return the spec's shape at each step, with padding if necessary"
                )
            torch.stack(rows, time, out=entry)
