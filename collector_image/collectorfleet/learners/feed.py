"""``LearnerFeed`` connects a fleet and learner shards. Frames flow to the shards, and weights flow to the fleet."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from torch import Tensor, nn

from collectorfleet import option_types
from collectorfleet.codec import snapshot as snapshots
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.learners.calls import Deadline, answers
from collectorfleet.learners.returning import steps_of
from collectorfleet.learners.router import FrameRouter, Split
from collectorfleet.learners.shards import LearnerShards
from collectorfleet.learners.versions import PolicyStatus, PolicyVersions
from collectorfleet.option_ranges import Timeout

_MINUTES: Final = timedelta(minutes=5)


class LearnerFeed:
    """Connects the collectors of one fleet with the policies that learn from their frames. Each policy is in a shard.

    Collectors write frames to the replay actors, so no frames pass through this process. The feed fetches changed
    weights from the learners, and the fleet publishes them. Pass :attr:`replay_buffer` to FleetCollector, and call
    :meth:`publish` to give collectors the learned weights.

    Use a feed from one thread, with one FleetCollector.
    """

    @option_types.checked("LearnerFeed.")
    def __init__(
        self,
        shards: LearnerShards,
        policies: Mapping[str, nn.Module],
        split: Split,
        *,
        timeout: Timeout = _MINUTES,
    ) -> None:
        """Block until the modules have the first weights of their learners. Make the feed before the FleetCollector.

        Args:
            shards: the shards that have the policies. Until :meth:`end`, the shards refuse to remove these policies.
            policies: for each policy id, the part of the fleet's policy module that belongs to this policy. The feed
                loads the tensors of the learner's ``weights()`` into this part, by name.
            split: maps the ``[frames]`` of a rollout to the frames of each policy. The collectors call ``split``.
                Frames that ``split`` does not return are dropped.

        Keyword Args:
            timeout: the time limit of a write, or of a learner's answer. The limit includes a restart of the actor.

        Raises:
            InvalidOption: a policy does not exist, its class has no ``weights()``, or the weights do not fit the
                module.
            UserCodeError, InfrastructureError: a learner raised, or is dead.
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
        # Policies whose weights were loaded, but not published because of an error. The fleet itself publishes the
        # first weights.
        self._unpublished: set[str] = set()
        self._load_changed()
        self._unpublished.clear()
        shards.prevent_removal(tuple(policies))
        # A feed that is deleted without end() also releases the policies.
        self._held = weakref.finalize(self, shards.allow_removal, tuple(policies))
        self._held.atexit = False

    def publish(self, collector: FleetCollector) -> list[str]:
        """Publish policies to the fleet if they changed since the last call. Return the ids of these policies.

        Blocks while learners finish earlier calls. The published version has the weights of all policies. The versions
        of unchanged policies do not increase.

        Raises:
            InvalidOption: the FleetCollector differs from the first FleetCollector, or a learner's weights no longer
                fit its module.
            UserCodeError, InfrastructureError: a learner raised, or is dead. The next call publishes the changes of the
                other learners.
        """
        self._check(collector)
        self._load_changed()
        changed = [policy_id for policy_id in self._modules if policy_id in self._unpublished]
        if changed:
            self._versions.staged(collector.publish(), changed)
            self._unpublished.clear()
        return changed

    def status(self, collector: FleetCollector) -> dict[str, PolicyStatus]:
        """Return the status of each policy by id: its versions, and the staleness of the frames in its buffer.

        Calls the replay actors.

        If you write your own replay class, give the class a method ``weights_versions(policy_id)``, as in
        :class:`~collectorfleet.learners.replay.PolicyReplay`. Without this method, the policies have no ``staleness``.

        Raises:
            InvalidOption: the FleetCollector differs from the first FleetCollector.
            UserCodeError, InfrastructureError: a replay actor raised, or is dead.
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
        """Allow the shards to remove the policies.

        Call this after the shutdown of the FleetCollector. Further calls do nothing.
        """
        self._held()

    def state_dict(self) -> dict[str, list[int]]:
        """Return the versions of each policy so far, for :meth:`go_on_from`."""
        return self._versions.state_dict()

    def go_on_from(self, state: Mapping[str, list[int]], first_version: int) -> None:
        """Continue the version counts from ``state``, the :meth:`state_dict` of another driver's feed.

        Call this before the FleetCollector is made. The FleetCollector's first version is ``first_version``. In this
        version, every policy counts as changed.
        """
        self._versions.go_on_from(state, first_version)

    def version_of(self, policy_id: str, weights_version: int) -> int:
        """Return the policy's version for a frame with this ``("collector", "weights_version")``.

        Versions of a policy count from 1. Raises InvalidOption if the feed has no policy with this id.
        """
        if policy_id not in self._modules:
            known = ", ".join(self._modules)
            raise InvalidOption(f"policy {policy_id!r}: the feed has no policy with this id; use one of {known}")
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
            raise InvalidOption("LearnerFeed: this feed belongs to another FleetCollector; create one feed for each")


def _learned(learner: Any, known: str | None) -> tuple[int, tuple[str, dict[str, Tensor]] | None]:
    """Return the learner's steps. Return digest and weights only if the digest is not ``known``.

    This function runs in the learner's process, so that unchanged weights are not sent.
    """
    weights = {name: tensor.detach().cpu() for name, tensor in learner.weights().items()}
    digest = snapshots.digest(snapshots.take(weights).arrays)
    return steps_of(learner), None if digest == known else (digest, weights)


def _load(policy_id: str, module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise InvalidOption(
            f"policy {policy_id}: the learner's weights do not fit the policy's module: {error}"
        ) from error


def _has(policy_id: str, role: str, actor: Any, method: str) -> None:
    if not hasattr(actor, method):
        raise InvalidOption(f"policy {policy_id}: the class of its {role} has no {method}(); add this method")
