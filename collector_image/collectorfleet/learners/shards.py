"""``LearnerShards``: policies that learn in actors of their own, each beside the replay actor that has its frames."""

from __future__ import annotations

import logging
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import ray

from collectorfleet.errors import CollectorClosed, InfrastructureError, InvalidOption
from collectorfleet.fleet.signature import takes
from collectorfleet.learners.calls import Deadline, answer, answers
from collectorfleet.learners.options import LearnerOptions, merged
from collectorfleet.learners.record import Earlier, Kept, replay_file, write_record
from collectorfleet.learners.returning import drained, keep, returning
from collectorfleet.learners.room import Room, bundle, nodes
from collectorfleet.learners.roster import Placement, Roster
from collectorfleet_api.packing.shards import ShardPacking

log = logging.getLogger(__name__)

_REPLAY: Final = 0  # the bundle of a shard; those of its policies follow
_MINUTE: Final = timedelta(minutes=1)
# For a replay of hundreds of GB on a slow volume. An actor that is lost says so itself; this ends waiting for a volume
# that hangs.
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True)
class _Learner:
    actor: Any
    kept_in: Path | None  # never one's of the same id before, who may still be writing


class LearnerShards:
    """Shards of learners: each a replay actor and policies beside it, whole on one node.

    It has the interface of RLlib's ``DistributedLearners``. Frames never pass through who holds this: collectors send
    them to a policy's replay actor, and the policy samples them there, as in
    ``policy.learn.remote(replay.sample.remote(policy_id, 256))``.

    The arguments are those of :class:`~collectorfleet.learners.options.LearnerOptions`, which describes each of them.
    Blocks until all shards have their room. Raises InvalidOption for what can never be placed, with the arithmetic,
    before anything is started.

    A dead actor is built anew by Ray, in its shard and from its last checkpoint; its handle stays the same. What it was
    doing raises ``ray.exceptions.RayActorError`` for who asked. To be used by one thread.
    """

    @takes(LearnerOptions)
    def __init__(self, options: LearnerOptions) -> None:
        if not ray.is_initialized():
            raise InvalidOption("LearnerShards: Ray is not initialized; call ray.init() first")
        self._options = options
        self.packing: ShardPacking = options.packed(nodes(options.resources))
        self._roster = Roster(self.packing.slots, Placement(options.placement))
        self._earlier = Earlier(options.resume_folder, self.packing.slots)
        self._classes: dict[type, Any] = {}
        self._policies: dict[str, _Learner] = {}
        self._fed = Counter[str]()
        self._added = 0
        gpu = 0.0 if options.fake_gpus else self.packing.gpu_per_policy
        self._gpu_per_actor = gpu
        policy = bundle(options.policy_cpus, gpu, options.resources)
        replay = bundle(options.replay_cpus, 0.0, options.resources)
        self._rooms = [Room([replay, *[policy] * slots]) for slots in self.packing.slots]
        # Who is dropped without stop() leaves no actors behind.
        self._end = weakref.finalize(self, _end, self._rooms)
        self._end.atexit = False
        try:
            self._replays = self._started(Deadline(options.start_timeout))
        except BaseException:
            self._end()
            raise
        log.info("%s", _summary(self.packing))

    def add_policy(
        self, policy_id: str, config: Mapping[str, Any] | None = None, *, policy_class: type | None = None
    ) -> Any:
        """Start a policy in the shard that ``placement`` says, and return its actor once it is built.

        Args:
            policy_id: up to 63 letters, digits, ``-``, ``_`` and ``.``.
            config: keywords of this policy, merged into those of all.
            policy_class: of this policy; default that of all.

        Raises:
            InvalidOption: the id is taken, all places are, or the class does not do.
            UserCodeError: the policy's constructor raised; its place is free again.
            InfrastructureError: it was not built within ``start_timeout``; likewise.
        """
        classes = {} if policy_class is None else {policy_id: policy_class}
        return self.add_policies({policy_id: config or {}}, policy_classes=classes)[policy_id]

    def add_policies(
        self, configs: Mapping[str, Mapping[str, Any]], *, policy_classes: Mapping[str, type] | None = None
    ) -> dict[str, Any]:
        """Start several policies at the same time, and return their actors by id once all are built.

        Args:
            configs: the configuration of each policy by its id, as for :meth:`add_policy`.
            policy_classes: classes by id; default that of all.

        Raises what :meth:`add_policy` raises; none of these policies is added then.
        """
        self._check_open()
        started: dict[str, _Learner] = {}
        try:
            for policy_id, config in configs.items():
                policy_class = (policy_classes or {}).get(policy_id, self._options.policy_class)
                started[policy_id] = self._start(policy_id, config, policy_class)
            asks = {f"policy {policy_id}": one.actor.__ray_ready__.remote for policy_id, one in started.items()}
            answers(asks, Deadline(self._options.start_timeout))
        except BaseException:
            for policy_id, one in started.items():
                ray.kill(one.actor, no_restart=True)
                self._roster.remove(policy_id)
            raise
        for policy_id, one in started.items():
            place = self._roster.place(policy_id)
            self._policies[policy_id] = one
            self._earlier.settled(policy_id, place)
            log.info("policy %s learns in shard %d, %d of %d places", policy_id, place.shard, len(self), self._places)
        return {policy_id: one.actor for policy_id, one in started.items()}

    def remove_policy(self, policy_id: str, timeout: timedelta = _MINUTE) -> None:
        """End a policy once it has done what this process asked of it, and make its place free.

        Its frames and its checkpoint are dropped. A policy that is still busy after ``timeout`` is ended, and a line in
        the log says so. Dropping its frames blocks for at most as long again.

        Raises:
            InvalidOption: there is none of that id, or collectors send it frames.
            UserCodeError, InfrastructureError: the policy is gone, and the replay actor could not forget its frames.
        """
        actor = self.get_policy_actor(policy_id)
        if self._fed[policy_id]:
            raise InvalidOption(
                f"policy {policy_id!r}: a LearnerFeed's collectors send it frames; shut its FleetCollector down and "
                "end() the feed first"
            )
        file = self._policies[policy_id].kept_in
        replay, shard = self._replay(policy_id), self._roster.place(policy_id).shard
        deadline = Deadline(timeout)
        done, _ = ray.wait([actor.__ray_call__.remote(drained)], timeout=deadline.left)
        if not done:
            log.warning("policy %s was still busy after %g s, and is ended", policy_id, deadline.seconds)
        ray.kill(actor, no_restart=True)
        del self._policies[policy_id]
        self._earlier.forget(policy_id)
        self._roster.remove(policy_id)
        if file is not None:
            file.unlink(missing_ok=True)
        who, deadline = f"replay actor of shard {shard}", Deadline(timeout)
        answer(who, partial(replay.forget.remote, policy_id), deadline)
        kept = self._replay_file(shard)
        if kept is not None and kept.exists():
            # Or it would know them again once it is built anew.
            answer(who, partial(replay.__ray_call__.remote, keep, kept), deadline)

    def get_policy_actor(self, policy_id: str) -> Any:
        """Raises InvalidOption for an unknown id, here as in all that take one."""
        self._check_open()
        self._roster.place(policy_id)
        return self._policies[policy_id].actor

    def get_replay_and_policy_actors(self, policy_id: str) -> tuple[Any, Any]:
        """The policy's actor, and before it the replay actor of its shard."""
        return self._replay(policy_id), self.get_policy_actor(policy_id)

    def get_policy_id(self, policy_actor: Any) -> str:
        """Raises InvalidOption for an actor that is none of the policies."""
        self._check_open()
        for policy_id, learner in self._policies.items():
            if learner.actor == policy_actor:
                return policy_id
        raise InvalidOption(f"get_policy_id: {policy_actor} is none of the {len(self)} policies")

    def get_replay_actors(self) -> list[Any]:
        """Of all shards, those without policies included, in their order."""
        self._check_open()
        return list(self._replays)

    def hold(self, policy_ids: Collection[str]) -> None:
        """Somebody sends these policies frames: none of them is removed before it is let go as often."""
        for policy_id in policy_ids:
            self.get_policy_actor(policy_id)
        self._fed.update(policy_ids)

    def let_go(self, policy_ids: Collection[str]) -> None:
        """Nobody sends these policies frames for one :meth:`hold` of them."""
        self._fed.subtract(policy_ids)

    def checkpoint(self, timeout: timedelta = _HOUR) -> None:
        """Write what every actor is now, each between two of its calls; from there it goes on if it dies.

        The first one drops the frames of those policies in ``resume_from`` that were not added again.

        Raises:
            InvalidOption: there is no ``checkpoint_dir``.
            UserCodeError: a ``state_dict()`` raised, or the folder is not there in some pod. All others are written,
                then as well:
            OSError: the folder cannot be made, which a full volume had no room for at the start.
            InfrastructureError: an actor is dead for good, or did not answer in time.
        """
        self._check_open()
        if self._options.checkpoint_dir is None:
            raise InvalidOption("checkpoint: checkpoint_dir is not set; pass it to LearnerShards")
        folder = Path(self._options.checkpoint_dir)
        folder.mkdir(parents=True, exist_ok=True)
        left = {
            f"replay actor of shard {shard}, policy {policy_id}": partial(self._replays[shard].forget.remote, policy_id)
            for policy_id, shard in self._earlier.take_left().items()
        }
        answers(left, Deadline(timeout))
        asks = {
            f"replay actor of shard {shard}": partial(replay.__ray_call__.remote, keep, self._replay_file(shard))
            for shard, replay in enumerate(self._replays)
        }
        for policy_id, learner in self._policies.items():
            asks[f"policy {policy_id}"] = partial(learner.actor.__ray_call__.remote, keep, learner.kept_in)
        answers(asks, Deadline(timeout))
        kept = {
            policy_id: Kept(self._roster.place(policy_id), learner.kept_in.name)
            for policy_id, learner in self._policies.items()
            if learner.kept_in is not None
        }
        write_record(folder, self.packing.slots, kept)

    @property
    def resumes(self) -> frozenset[str]:
        """Policies that are in ``resume_from`` and were not added again yet."""
        return self._earlier.policies

    def shard_of(self, policy_id: str) -> int:
        """The shard that the policy learns in, counted from 0."""
        return self._roster.place(policy_id).shard

    def stop(self) -> None:
        """End all actors, whatever they do, and give their room back. Further calls do nothing."""
        self._end()
        self._policies.clear()

    def __len__(self) -> int:
        """Policies."""
        return len(self._policies)

    def __iter__(self) -> Iterator[tuple[str, Any, Any]]:
        """Id, actor and replay actor of each policy, in the order in which they were added, as they are now."""
        return iter([(name, learner.actor, self._replay(name)) for name, learner in self._policies.items()])

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "LearnerShards cannot be pickled, because a copy would not know later changes; pass its actors instead"
        )

    # ---------------------------------------------------------------- how
    def _started(self, deadline: Deadline) -> list[Any]:
        waiting = [room.ready for room in self._rooms]
        placed, _ = ray.wait(waiting, num_returns=len(waiting), timeout=deadline.left)
        if len(placed) < len(waiting):
            raise InfrastructureError(
                f"learner shards: {len(placed)} of {len(waiting)} have room after {deadline.seconds:g} s; "
                "other processes use the rest of the nodes; end them, add a node, or request less"
            )
        replay_class = self._class(self._options.replay_class)
        config = self._options.replay_config
        replays = [
            room.start(replay_class, _REPLAY, self._restarts, self._replay_files(shard), 0.0, config)
            for shard, room in enumerate(self._rooms)
        ]
        answers({f"replay actor of shard {at}": it.__ray_ready__.remote for at, it in enumerate(replays)}, deadline)
        return replays

    def _start(self, policy_id: str, config: Mapping[str, Any], policy_class: type) -> _Learner:
        """Give the policy a place, and return its actor, which is not built yet."""
        actor_class = self._class(policy_class)
        keywords = merged(self._options.config, config)
        place = self._roster.add(policy_id, self._earlier.place(policy_id))
        self._added += 1
        file = self._file(f"policy-{policy_id}-{self._added}.pt")
        files = [*_present(file), *self._earlier.policy_files(policy_id)]
        room = self._rooms[place.shard]
        actor = room.start(actor_class, 1 + place.slot, self._restarts, files, self._gpu_per_actor, keywords)
        return _Learner(actor, file)

    def _class(self, of: type) -> Any:
        """One for all actors of a class: Ray keeps each class that is made in its head for ever."""
        if of not in self._classes:
            if of is not self._options.replay_class:
                self._options.check_policy_class(of)
            # Nor does it keep a record of each call, which only its dashboard reads.
            unrecorded: Any = {"enable_task_events": False}
            self._classes[of] = ray.remote(**unrecorded)(returning(of))
        return self._classes[of]

    @property
    def _restarts(self) -> int:
        return 0 if self._options.checkpoint_dir is None else self._options.max_restarts

    @property
    def _places(self) -> int:
        return sum(self.packing.slots)

    def _replay(self, policy_id: str) -> Any:
        self._check_open()
        return self._replays[self._roster.place(policy_id).shard]

    def _replay_files(self, shard: int) -> list[Path]:
        return [*_present(self._replay_file(shard)), *self._earlier.replay_files(shard)]

    def _replay_file(self, shard: int) -> Path | None:
        return self._file(replay_file(shard))

    def _file(self, name: str) -> Path | None:
        folder = self._options.checkpoint_dir
        return None if folder is None else Path(folder) / name

    def _check_open(self) -> None:
        if not self._end.alive:
            raise CollectorClosed("learner shards: used after stop()")


def _present(file: Path | None) -> list[Path]:
    return [] if file is None else [file]


def _end(rooms: Sequence[Room]) -> None:
    if ray.is_initialized():
        for room in rooms:
            room.end()


def _summary(packing: ShardPacking) -> str:
    places = "+".join(str(slots) for slots in packing.slots)
    return (
        f"{len(packing.slots)} learner shards with {places} places of {packing.gpu_per_policy:g} GPU; "
        f"{packing.surplus_gpu:g} GPU stay unused"
    )
