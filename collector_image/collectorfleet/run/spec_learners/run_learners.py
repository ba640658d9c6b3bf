"""Define ``run.learners``: the shards and the feed of a fleet with ``spec.learners``.

Use the learners on the driver's main thread. Any thread may read :attr:`RunLearners.status`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from numbers import Real
from typing import Any, Final

from torch import nn

from collectorfleet.errors import CollectorFleetError, describe
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.learners.calls import Deadline, answer, answers
from collectorfleet.learners.feed import LearnerFeed
from collectorfleet.learners.options import LearnerOptions
from collectorfleet.learners.shards import LearnerShards
from collectorfleet.learners.versions import PolicyStatus
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.spec_learners.code import LearnerCode, parts_of
from collectorfleet.run.spec_learners.folders import LearnerFolders
from collectorfleet_api.names import LEARNER_RESOURCE
from collectorfleet_api.packing.learner_pods import LearnerPods
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, LearnerPolicyStatus, Learners, LearnersStatus
from collectorfleet_api.v1alpha1.learners_status import PolicyStaleness

log = logging.getLogger(__name__)

# The shortest interval between two updates of the status, unless an update is forced.
LOOK_SECONDS: Final = 2.0
_MINUTES: Final = timedelta(minutes=5)


class RunLearners:
    """The learners of a run. A training function uses ``shards``, ``feed`` and ``feed.publish(collector)``."""

    def __init__(self, shards: LearnerShards, feed: LearnerFeed, folders: LearnerFolders | None) -> None:
        self.shards = shards
        self.feed = feed
        self.status = _status(shards, {})
        self._folders = folders
        self._updated_at = -LOOK_SECONDS

    def learn(self, batch_size: int) -> dict[str, float]:
        """Let each policy with frames learn from ``batch_size`` frames, in parallel. Blocks until all have learned.

        Returns the numbers that ``learn`` returned, keyed by ``learn/<id>``. While an actor restarts, its calls are
        retried. If a replay actor restarts without frames, the policies of its shard wait for the next batch. Raises
        UserCodeError or InfrastructureError.
        """
        deadline, rows = Deadline(_MINUTES), list(self.shards)
        sizes = answers({_replay(name): partial(replay.size.remote, name) for name, _, replay in rows}, deadline)
        asks = {
            name: _Learning(learner, replay, name, batch_size, deadline)
            for name, learner, replay in rows
            if sizes[_replay(name)]
        }
        told = answers({f"policy {name}": ask for name, ask in asks.items()}, deadline)
        found = {name: told[f"policy {name}"] for name in asks}
        return {f"learn/{name}": float(value) for name, value in found.items() if isinstance(value, Real)}

    def update_status(self, collector: FleetCollector, *, force: bool = False) -> None:
        """Update :attr:`status` if ``force`` is true, or if the last update was at least 2 s ago."""
        if not force and time.monotonic() - self._updated_at < LOOK_SECONDS:
            return
        try:
            self.status = _status(self.shards, self.feed.status(collector))
        except CollectorFleetError as error:
            # Only log the error, because the next call that needs the actor raises it.
            log.warning("the learners' status was not updated: %s", describe(error))
        self._updated_at = time.monotonic()

    def checkpoint(self, within: timedelta) -> None:
        """Write the states of all actors to disk if the run has checkpoints. Blocks for at most ``within``.

        Raises CollectorFleetError or OSError. A driver that lost its fleet raises FolderTakenOver, and writes nothing.
        """
        if self._folders is None:
            return
        self.shards.checkpoint(within)
        self._folders.tidy()

    def close(self) -> None:
        """End all actors. Call this after the shutdown of the collector."""
        self.feed.end()
        self.shards.stop()


class _FencedShards(LearnerShards):
    """The shards of a run. Their checkpoints are written only by the newest driver of the run."""

    def __init__(self, options: LearnerOptions, folders: LearnerFolders | None) -> None:
        self._open(options, folders)


class _Learning:
    """A call that lets a policy with frames learn once.

    A retry first checks that the frames still exist. After the loss of the replay actor, the frames since the last
    checkpoint are missing.
    """

    def __init__(self, learner: Any, replay: Any, policy_id: str, batch_size: int, deadline: Deadline) -> None:
        self._learner, self._replay = learner, replay
        self._policy_id, self._batch_size = policy_id, batch_size
        self._deadline = deadline
        self._asked = False

    def __call__(self) -> Any:
        """Return Ray's reference to the result of ``learn``, or None if there are no frames."""
        size = partial(self._replay.size.remote, self._policy_id)
        if self._asked and not answer(_replay(self._policy_id), size, self._deadline):
            return None
        self._asked = True
        return self._learner.learn.remote(self._replay.sample.remote(self._policy_id, self._batch_size))


class KeptParts:
    """The policy of a fleet with learners, as checkpoints save it. Its parts depend on the learners in the spec."""

    def __init__(self, policy: nn.Module) -> None:
        self._policy = policy

    def state_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = self._policy.state_dict()
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load the state. Parts that the state lacks keep their initial weights.

        Raises RuntimeError if a tensor of the state has another shape.
        """
        self._policy.load_state_dict(state, strict=False)


class KeptVersions:
    """The policies' versions as part of a checkpoint's state."""

    def __init__(self, feed: LearnerFeed, first_version: int) -> None:
        """``first_version`` is the first version that this driver publishes."""
        self._feed = feed
        self._first_version = first_version

    def state_dict(self) -> dict[str, list[int]]:
        return self._feed.state_dict()

    def load_state_dict(self, state: Mapping[str, list[int]]) -> None:
        self._feed.go_on_from(state, self._first_version)


def open_learners(
    spec: CollectorFleetSpec, code: LearnerCode, policy: Any, folder: CheckpointFolder | None, *, on_gpus: bool
) -> RunLearners:
    """Start the shards and policies of ``spec.learners``. Blocks until all actors are scheduled and built.

    The learners resume from the checkpoint of earlier drivers in ``folder``, if there is a checkpoint. If ``on_gpus``
    is False, GPUs count for packing, but the learners do not use them. Raises CollectorFleetError.
    """
    asked = spec.learners
    if asked is None:
        raise ValueError("spec.learners is absent")
    parts = parts_of(policy, asked)
    folders = LearnerFolders(folder.files) if folder else None
    before = folders.take_newest() if folders and folder and folder.newest is not None else None
    if folders and before is not None:
        # Tidy now, because unfinished files of an earlier driver may fill the volume.
        try:
            folders.tidy(keep=before)
        except OSError as error:
            log.warning("files of earlier drivers will be removed later: %s", describe(error))
    # The next driver may remove the copy that this driver reads.
    with folders.reporting_takeover() if folders else nullcontext():
        options = LearnerOptions(
            code.of_policies[asked.policies[0].id],
            **_shard_options(asked, on_gpus=on_gpus),
            replay_class=code.replay,
            checkpoint_dir=folders.make_own() if folders else None,
            resume_from=before,
            start_timeout=timedelta(seconds=spec.collectors.available_timeout_seconds),
        )
        shards = _FencedShards(options, folders)
        try:
            # Resumed policies get their places before new policies.
            in_order = sorted(asked.policies, key=lambda policy: policy.id not in shards.resumes)
            shards.add_policies({one.id: one.kwargs for one in in_order}, policy_classes=code.of_policies)
            feed = LearnerFeed(shards, parts, code.split)
        except BaseException:
            shards.stop()
            raise
    return RunLearners(shards, feed, folders)


def _shard_options(asked: Learners, *, on_gpus: bool) -> dict[str, Any]:
    pods = asked.pods
    return {
        "max_policies": asked.places,
        "config": asked.kwargs,
        "gpus": asked.gpus,
        "shards": asked.shards,
        "placement": asked.placement.value,
        "fake_gpus": not on_gpus,
        "replay_config": asked.replay.kwargs,
        "policy_cpus": float(asked.group.policy_cpus),
        "replay_cpus": float(asked.group.replay_cpus),
        # The sizes are needed here, because pods of learners may start later than the driver.
        "pods": pods.sizes if isinstance(pods, LearnerPods) else [],
        "resources": {LEARNER_RESOURCE: 1},
    }


def _replay(policy_id: str) -> str:
    return f"replay actor of policy {policy_id}"


def _status(shards: LearnerShards, found: Mapping[str, PolicyStatus]) -> LearnersStatus:
    packing = shards.packing
    return LearnersStatus(
        shards=len(packing.slots),
        places=sum(packing.slots),
        used=len(shards),
        gpu_per_policy=packing.gpu_per_policy or None,
        policies=[_row(policy_id, shards.shard_of(policy_id), found.get(policy_id)) for policy_id, _, _ in shards],
    )


def _row(policy_id: str, shard: int, found: PolicyStatus | None) -> LearnerPolicyStatus:
    if found is None:
        return LearnerPolicyStatus(id=policy_id, shard=shard, frames=0)
    behind = found.staleness
    return LearnerPolicyStatus(
        id=policy_id,
        shard=shard,
        published=found.published,
        acknowledged=found.acknowledged,
        publish_lag=found.publish_lag,
        frames=found.frames,
        staleness=PolicyStaleness(min=behind.min, mean=behind.mean, max=behind.max) if behind else None,
        steps=found.steps,
    )
