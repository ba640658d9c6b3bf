"""``LearnerFeed``: between a fleet and learner shards. Frames go one way, weights the other."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from torch import Tensor, nn

from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.learners.calls import Deadline, answers
from collectorfleet.learners.returning import steps_of
from collectorfleet.learners.router import FrameRouter, Split
from collectorfleet.learners.shards import LearnerShards
from collectorfleet.learners.versions import PolicyStatus, PolicyVersions

_MINUTES: Final = timedelta(minutes=5)


class LearnerFeed:
    """One fleet's collectors and the policies that learn from them, each in its shard.

    Collectors write frames to the replay actors themselves: none pass through this process. Weights come from the
    learners here, those that changed, and are published by the fleet. Pass :attr:`replay_buffer` to FleetCollector, and
    call :meth:`publish` whenever collectors are to have what was learned.

    To be used by one thread, with one FleetCollector.
    """

    def __init__(
        self,
        shards: LearnerShards,
        policies: Mapping[str, nn.Module],
        split: Split,
        *,
        timeout: timedelta = _MINUTES,
    ) -> None:
        """Blocks until the modules have what their learners begin with, so make this before the FleetCollector.

        Args:
            shards: they have the policies already, and keep them until :meth:`end`.
            policies: by id, the part of the fleet's policy module that each of them is. What a learner's class returns
                from ``weights()``, tensors by name, is loaded into it.
            split: from ``[frames]`` of a rollout to those of each policy; travels to the collectors. What it leaves out
                is dropped.

        Keyword Args:
            timeout: how long a write, and a learner's answer, may take with the time in which its actor is built anew.

        Raises:
            InvalidOption: a policy is not there, its class has no ``weights()``, or they are of another module.
            UserCodeError, InfrastructureError: a learner raised, or is gone.
        """
        if not policies:
            raise InvalidOption("policies: the list is empty; name at least one policy of the learner shards")
        found = {policy_id: shards.get_replay_and_policy_actors(policy_id) for policy_id in policies}
        for policy_id, (replay, learner) in found.items():
            _has(policy_id, "learner", learner, "weights")
            _has(policy_id, "replay actor", replay, "extend")
        self._replays = {policy_id: replay for policy_id, (replay, _) in found.items()}
        self._learners = {policy_id: learner for policy_id, (_, learner) in found.items()}
        self._modules = dict(policies)
        self._timeout = timeout
        self._digests: dict[str, str] = {}
        self._steps: dict[str, int] = {}
        self._versions = PolicyVersions(policies)
        self._collector: weakref.ref[FleetCollector] | None = None
        self.replay_buffer = FrameRouter(self._replays, split, timeout)
        # Loaded here and not published yet, should something raise in between. What is here first, the fleet publishes.
        self._unpublished: set[str] = set()
        self._load_changed()
        self._unpublished.clear()
        shards.hold(tuple(policies))
        # Who is dropped lets them go too.
        self._held = weakref.finalize(self, shards.let_go, tuple(policies))
        self._held.atexit = False

    def publish(self, collector: FleetCollector) -> list[str]:
        """Have the fleet publish what changed since the last time; returns the policies that did, none if none did.

        Blocks while learners work on what they were asked before. The version has all policies, those that did not
        change as they were, and counts for those that changed.

        Raises:
            InvalidOption: it is another FleetCollector than before, or a learner's weights fit its module no more.
            UserCodeError, InfrastructureError: a learner raised, or is gone; what others learned comes the next time.
        """
        self._check(collector)
        self._load_changed()
        changed = [policy_id for policy_id in self._modules if policy_id in self._unpublished]
        if changed:
            self._versions.staged(collector.publish(), changed)
            self._unpublished.clear()
        return changed

    def status(self, collector: FleetCollector) -> dict[str, PolicyStatus]:
        """The versions of each policy now, and how stale what is in its buffer is, by id. Asks the replay actors.

        A replay class of your own says how stale by ``weights_versions(policy_id)``, as
        :class:`~collectorfleet.learners.replay.PolicyReplay` has it; its policies have no ``staleness`` otherwise.

        Raises:
            InvalidOption: it is another FleetCollector than before.
            UserCodeError, InfrastructureError: a replay actor raised, or is gone.
        """
        self._check(collector)
        weights = collector.status().weights
        published, acknowledged = (weights.published, weights.acknowledged) if weights else (None, None)
        asks = {
            f"replay actor of policy {policy_id}": partial(replay.weights_versions.remote, policy_id)
            for policy_id, replay in self._replays.items()
            if hasattr(replay, "weights_versions")
        }
        stored = answers(asks, Deadline(self._timeout))
        found = {
            policy_id: self._versions.status(
                policy_id, published, acknowledged, stored.get(f"replay actor of policy {policy_id}", {})
            )
            for policy_id in self._modules
        }
        return {policy_id: replace(row, steps=self._steps[policy_id]) for policy_id, row in found.items()}

    def end(self) -> None:
        """Let the policies be removed; once the FleetCollector is shut down. Further calls do nothing."""
        self._held()

    def state_dict(self) -> dict[str, list[int]]:
        """The versions of each policy so far, for :meth:`go_on_from`."""
        return self._versions.state_dict()

    def go_on_from(self, state: Mapping[str, list[int]], first_version: int) -> None:
        """Count versions on from ``state``, which another driver's feed had.

        Before the FleetCollector is made, which publishes ``first_version`` first: with that every policy changes.
        """
        self._versions.go_on_from(state, first_version)

    def version_of(self, policy_id: str, weights_version: int) -> int:
        """The version of a policy that acted in a frame with that ``("collector", "weights_version")``, from 1 on."""
        if policy_id not in self._modules:
            raise InvalidOption(f"policy {policy_id!r}: the feed does not have it; it has {', '.join(self._modules)}")
        return self._versions.of(policy_id, weights_version)

    def _load_changed(self) -> None:
        asks = {
            f"policy {policy_id}": partial(learner.__ray_call__.remote, _learned, self._digests.get(policy_id))
            for policy_id, learner in self._learners.items()
        }
        learned = answers(asks, Deadline(self._timeout))
        for policy_id, module in self._modules.items():
            self._steps[policy_id], new = learned[f"policy {policy_id}"]
            if new is not None:
                digest, weights = new
                _load(policy_id, module, weights)
                self._digests[policy_id] = digest
                self._unpublished.add(policy_id)

    def _check(self, collector: FleetCollector) -> None:
        if self._collector is None:
            self._collector = weakref.ref(collector)
        if self._collector() is not collector:
            raise InvalidOption("LearnerFeed: it belongs to another FleetCollector; make one for each")


def _learned(learner: Any, known: str | None) -> tuple[int, tuple[str, dict[str, Tensor]] | None]:
    """Its steps; and digest and weights, unless they are what is known.

    In the learner's process: what is known need not travel.
    """
    weights = {name: tensor.detach().cpu() for name, tensor in learner.weights().items()}
    digest = snapshots.digest(snapshots.take(weights).arrays)
    return steps_of(learner), None if digest == known else (digest, weights)


def _load(policy_id: str, module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise InvalidOption(f"policy {policy_id}: its learner's weights are of another module: {error}") from error


def _has(policy_id: str, role: str, actor: Any, method: str) -> None:
    if not hasattr(actor, method):
        raise InvalidOption(f"policy {policy_id}: the class of its {role} has no {method}(); add it")
