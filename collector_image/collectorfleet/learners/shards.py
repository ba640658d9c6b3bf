"""``LearnerShards``: policies that learn in separate actors, each on the node of its replay actor."""

from __future__ import annotations

import logging
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, NoReturn

import ray

from collectorfleet import option_types
from collectorfleet.errors import CollectorClosed, InvalidOption
from collectorfleet.fleet.signature import takes
from collectorfleet.learners.actor_classes import ActorClasses
from collectorfleet.learners.calls import Deadline, answers
from collectorfleet.learners.checkpoint_folder import CheckpointFolder, NewFolder
from collectorfleet.learners.checkpoints import Checkpoints
from collectorfleet.learners.options import LearnerOptions, merged
from collectorfleet.learners.record import Earlier
from collectorfleet.learners.returning import drained
from collectorfleet.learners.room import Room, bundle, end_rooms, nodes, wait_for_rooms
from collectorfleet.learners.roster import Placement, Roster
from collectorfleet.option_ranges import Timeout
from collectorfleet_api.counts import counted
from collectorfleet_api.packing.shards import ShardPacking

log = logging.getLogger(__name__)

_REPLAY: Final = 0  # the bundle of the replay actor; the bundles of policies follow
_MINUTE: Final = timedelta(minutes=1)
# One hour is enough to write hundreds of GB of frames to a slow volume. The limit applies if a volume hangs. If an
# actor is lost, the call raises earlier.
_HOUR: Final = timedelta(hours=1)


class LearnerShards:
    """Shards of learners. Each shard has a replay actor and its policies, all on one node.

    The class has the interface of RLlib's ``DistributedLearners``. Frames never pass through this process. Collectors
    send frames to a policy's replay actor, and the policy samples frames from this actor, as in
    ``policy.learn.remote(replay.sample.remote(policy_id, 256))``.

    :class:`~collectorfleet.learners.options.LearnerOptions` describes the arguments. The constructor blocks until all
    shards have their resources. If the shards can never be placed, the constructor starts no actor and raises
    InvalidOption with the numbers.

    If an actor dies, Ray restarts it in its shard, from its last checkpoint. The actor's handle stays valid. A call
    that the actor has not answered raises ``ray.exceptions.RayActorError`` in the caller. Use an instance from one
    thread.
    """

    @takes(LearnerOptions)
    def __init__(self, options: LearnerOptions) -> None:
        path = options.checkpoint_folder
        self._open(options, None if path is None else NewFolder(path))

    def _open(self, options: LearnerOptions, folder: CheckpointFolder | None) -> None:
        """Start the shards. ``folder`` decides whether this process may write into ``checkpoint_dir``."""
        if not ray.is_initialized():
            raise InvalidOption("LearnerShards: Ray is not initialized; call ray.init() first")
        self._options = options
        self.packing: ShardPacking = options.packed(nodes(options.resources))
        self._roster = Roster(self.packing.slots, Placement(options.placement))
        self._earlier = Earlier(options.resume_folder, self.packing.slots)
        self._checkpoints = Checkpoints(options.checkpoint_folder, folder, self._earlier, self.packing.slots)
        self._classes = ActorClasses(options)
        self._policies: dict[str, Any] = {}
        self._fed = Counter[str]()
        gpu = self._gpu_per_actor = 0.0 if options.fake_gpus else self.packing.gpu_per_policy
        policy = bundle(options.policy_cpus, gpu, options.resources)
        replay = bundle(options.replay_cpus, 0.0, options.resources)
        self._rooms = [Room([replay, *[policy] * slots]) for slots in self.packing.slots]
        # If the object is garbage-collected without stop(), the actors end, too.
        self._end = weakref.finalize(self, end_rooms, self._rooms)
        self._end.atexit = False
        try:
            self._replays = self._started(Deadline(options.start_timeout))
        except BaseException:
            self._end()
            raise
        log.info("%s", _summary(self.packing))
        if self.dropped_frames:
            log.warning("%s", _dropped(self._earlier.dropped, self.packing, options))

    @option_types.checked("LearnerShards.add_policy.")
    def add_policy(
        self, policy_id: str, config: Mapping[str, Any] | None = None, *, policy_class: type | None = None
    ) -> Any:
        """Start a policy in the shard that ``placement`` selects. Return the policy's actor once it is built.

        Args:
            policy_id: up to 63 letters, digits, ``-``, ``_`` and ``.``.
            config: keywords of this policy, merged into ``config`` of the constructor.
            policy_class: the class of this policy. None: ``policy_class`` of the constructor.

        Raises:
            InvalidOption: the id is taken or invalid, all places are taken, or the class lacks a method.
            UserCodeError: the policy's constructor raised. Its place is free again.
            InfrastructureError: the policy was not built within ``start_timeout``. Its place is free again.
            TypeError: Ray cannot pickle the class or its arguments. Its place is free again.
            OSError, FolderTakenOver: :meth:`remove_policy` and this method could not drop the frames of an earlier
                policy of this id. Its place is free again.
        """
        classes = {} if policy_class is None else {policy_id: policy_class}
        return self.add_policies({policy_id: config or {}}, policy_classes=classes)[policy_id]

    @option_types.checked("LearnerShards.add_policies.")
    def add_policies(
        self, configs: Mapping[str, Mapping[str, Any]], *, policy_classes: Mapping[str, type] | None = None
    ) -> dict[str, Any]:
        """Start several policies at the same time. Once all policies are built, return their actors by id.

        Args:
            configs: the configuration of each policy by its id, as for :meth:`add_policy`.
            policy_classes: classes by id. The default is ``policy_class`` of the constructor.

        Raises the errors of :meth:`add_policy`. If one policy fails, no policy is added.
        """
        self._check_open()
        started: dict[str, Any] = {}
        try:
            for policy_id, config in configs.items():
                policy_class = (policy_classes or {}).get(policy_id, self._options.policy_class)
                started[policy_id] = self._start(policy_id, config, policy_class)
            asks = {f"policy {policy_id}": actor.__ray_ready__.remote for policy_id, actor in started.items()}
            answers(asks, Deadline(self._options.start_timeout))
        except BaseException:
            for policy_id, actor in started.items():
                ray.kill(actor, no_restart=True)
                self._roster.remove(policy_id)
            raise
        for policy_id, actor in started.items():
            place = self._roster.place(policy_id)
            self._policies[policy_id] = actor
            self._earlier.settled(policy_id, place)
            log.info(
                "policy %s is in shard %d, which now uses %d of %d places",
                policy_id,
                place.shard,
                len(self),
                sum(self.packing.slots),
            )
        return started

    @option_types.checked("LearnerShards.remove_policy.")
    def remove_policy(self, policy_id: str, timeout: Timeout = _MINUTE) -> None:
        """Wait until a policy has finished earlier calls of this process. Then end the policy and free its place.

        The frames of the policy are dropped now. The next :meth:`checkpoint` drops the checkpoint of the policy. Until
        then, shards that resume from the last checkpoint also resume the policy and its frames. If the policy is still
        busy after ``timeout``, it is killed and a warning is logged. Dropping its frames blocks for at most another
        ``timeout``.

        Raises:
            InvalidOption: the policy does not exist, or a feed still sends frames to the policy.
            UserCodeError, InfrastructureError: the policy is removed, but the replay actor could not drop its frames.
                The frames are dropped at the next checkpoint, or when a policy of this id is added to this shard.
            OSError: the policy is removed, but the volume of ``checkpoint_dir`` is full, fails or is read-only. A
                replay actor that restarts may have the frames again until they are dropped as above.
            FolderTakenOver: the policy is removed, but the run has a newer driver.
        """
        actor = self.get_policy_actor(policy_id)
        if self._fed[policy_id]:
            raise InvalidOption(
                f"policy {policy_id!r}: the collectors of a LearnerFeed send frames to this policy; first shut the "
                "FleetCollector down and call end() of the feed"
            )
        shard = self._roster.place(policy_id).shard
        deadline = Deadline(timeout)
        done, _ = ray.wait([actor.__ray_call__.remote(drained)], timeout=deadline.left)
        if not done:
            log.warning("policy %s was still busy after %g s, and is ended", policy_id, deadline.seconds)
        ray.kill(actor, no_restart=True)
        del self._policies[policy_id]
        self._roster.remove(policy_id)
        self._checkpoints.remove(policy_id, shard)
        self._checkpoints.drop(policy_id, shard, self._replays[shard], Deadline(timeout))

    def get_policy_actor(self, policy_id: str) -> Any:
        """Return the policy's actor. Raise InvalidOption for an unknown id, as all methods with an id do."""
        self._check_open()
        self._roster.place(policy_id)
        return self._policies[policy_id]

    def get_replay_and_policy_actors(self, policy_id: str) -> tuple[Any, Any]:
        """Return the replay actor of the policy's shard, and the policy's actor."""
        return self._replay(policy_id), self.get_policy_actor(policy_id)

    def get_policy_id(self, policy_actor: Any) -> str:
        """Return the id of a policy's actor. Raise InvalidOption for another actor."""
        self._check_open()
        for policy_id, actor in self._policies.items():
            if actor == policy_actor:
                return policy_id
        raise InvalidOption(f"get_policy_id: none of the {len(self)} policies has the actor {policy_actor}")

    def get_replay_actors(self) -> list[Any]:
        """Return the replay actors of all shards in order, including shards without policies."""
        self._check_open()
        return list(self._replays)

    def prevent_removal(self, policy_ids: Collection[str]) -> None:
        """Prevent the removal of policies while a feed sends them frames. Each call needs one :meth:`allow_removal`."""
        for policy_id in policy_ids:
            self.get_policy_actor(policy_id)
        self._fed.update(policy_ids)

    def allow_removal(self, policy_ids: Collection[str]) -> None:
        """Undo one :meth:`prevent_removal` of these policies."""
        self._fed.subtract(policy_ids)

    @option_types.checked("LearnerShards.checkpoint.")
    def checkpoint(self, timeout: Timeout = _HOUR) -> None:
        """Write the state of every actor, between two of its calls. A restarted actor resumes from this state.

        A checkpoint has the states of all actors. If one actor cannot write its state, all actors keep the previous
        checkpoint, and the next checkpoint tries again. The first checkpoint drops the frames of policies in
        ``resume_from`` that were not added again. New policies with these ids start afresh, even if the checkpoint
        fails. Each checkpoint drops frames that :meth:`remove_policy` could not drop. Blocks for at most ``timeout`` to
        drop frames, and for at most another ``timeout`` to write.

        Raises the first of these errors:

            InvalidOption: ``checkpoint_dir`` is not set, or another program made it while the volume was full.
            FolderTakenOver: the shards belong to a run, and the run has a newer driver.
            OSError: the volume is full, fails or is read-only.
            UserCodeError: a ``state_dict()`` or a ``forget()`` raised, or a pod cannot access the folder.
            InfrastructureError: an actor is dead, or did not answer in time.
        """
        self._check_open()
        self._checkpoints.write(self._replays, self._policies, self._roster.place, timeout)

    @property
    def resumes(self) -> frozenset[str]:
        """The policies in ``resume_from`` that were not added again yet."""
        return self._earlier.policies

    @property
    def dropped_frames(self) -> bool:
        """Whether the replay actors began without the frames in ``resume_from``, because the places changed."""
        return bool(self._earlier.dropped)

    def shard_of(self, policy_id: str) -> int:
        """Return the index of the policy's shard, from 0 on."""
        return self._roster.place(policy_id).shard

    def stop(self) -> None:
        """Kill all actors and free their resources. Further calls do nothing."""
        self._end()
        self._policies.clear()

    def __len__(self) -> int:
        """Return the number of policies."""
        return len(self._policies)

    def __iter__(self) -> Iterator[tuple[str, Any, Any]]:
        """Iterate over the id, the actor and the replay actor of each present policy, in the order of addition."""
        return iter([(name, actor, self._replay(name)) for name, actor in self._policies.items()])

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "LearnerShards cannot be pickled, because a copy would not know later changes; pass its actors instead"
        )

    def _started(self, deadline: Deadline) -> list[Any]:
        wait_for_rooms(self._rooms, deadline)
        replay_class = self._classes.of(self._options.replay_class)
        config = self._options.replay_config
        replays = [
            room.start(replay_class, _REPLAY, self._restarts, self._checkpoints.origin_of_replay(shard), 0.0, config)
            for shard, room in enumerate(self._rooms)
        ]
        answers({f"replay actor of shard {at}": it.__ray_ready__.remote for at, it in enumerate(replays)}, deadline)
        return replays

    def _start(self, policy_id: str, config: Mapping[str, Any], policy_class: type) -> Any:
        """Give the policy a place and start its actor. Return before the actor is built."""
        actor_class = self._classes.of(policy_class)
        keywords = merged(self._options.config, config)
        place = self._roster.add(policy_id, self._earlier.place(policy_id))
        try:
            if self._checkpoints.has_frames_to_drop(policy_id, place.shard):
                deadline = Deadline(self._options.start_timeout)
                self._checkpoints.drop(policy_id, place.shard, self._replays[place.shard], deadline)
            # Ray raises here if the class or its arguments cannot be pickled.
            return self._rooms[place.shard].start(
                actor_class,
                1 + place.slot,
                self._restarts,
                self._checkpoints.origin_of_policy(policy_id),
                self._gpu_per_actor,
                keywords,
            )
        except BaseException:
            self._roster.remove(policy_id)
            raise

    @property
    def _restarts(self) -> int:
        return 0 if self._options.checkpoint_dir is None else self._options.max_restarts

    def _replay(self, policy_id: str) -> Any:
        self._check_open()
        return self._replays[self._roster.place(policy_id).shard]

    def _check_open(self) -> None:
        if not self._end.alive:
            raise CollectorClosed("learner shards: used after stop()")


def _dropped(earlier: str, packing: ShardPacking, options: LearnerOptions) -> str:
    return (
        f"learner shards: the replay actors begin without the frames in {options.resume_folder}, because the places "
        f"changed from {earlier} to {_places(packing)}; to keep frames when policies are added or removed, set "
        "maxPolicies (in Python: max_policies) beforehand, and change neither gpus nor shards"
    )


def _places(packing: ShardPacking) -> str:
    return "+".join(map(str, packing.slots))


def _summary(packing: ShardPacking) -> str:
    places = _places(packing) + (" place" if sum(packing.slots) == 1 else " places")
    return (
        f"{counted(len(packing.slots), 'learner shard')} with {places} of {packing.gpu_per_policy:g} GPU; "
        f"{packing.surplus_gpu:g} GPU stay unused"
    )
