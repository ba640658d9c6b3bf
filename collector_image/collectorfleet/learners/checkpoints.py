"""Write the checkpoints of learner shards, name their files, and drop frames that no policy needs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from collectorfleet.durable_files import UNFINISHED, describe_failure, volume_error
from collectorfleet.errors import CollectorFleetError, InvalidOption
from collectorfleet.learners.calls import Deadline, answers
from collectorfleet.learners.checkpoint_folder import CheckpointFolder
from collectorfleet.learners.dropped import add_dropped
from collectorfleet.learners.origin import Origin
from collectorfleet.learners.record import (
    Earlier,
    Kept,
    Record,
    is_whole,
    policy_file,
    remove_unnamed,
    replay_file,
    replay_file_of_0_1,
    write_record,
)
from collectorfleet.learners.returning import keep
from collectorfleet.learners.roster import Place
from collectorfleet.transport.ray.replay_buffer import own_error

log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of learner shards, and the earlier checkpoint that the shards resume from.

    ``path`` is the path of ``folder``. Both are None if the shards write no checkpoints. ``slots`` has the number of
    places of each shard.
    """

    def __init__(
        self, path: Path | None, folder: CheckpointFolder | None, earlier: Earlier, slots: Sequence[int]
    ) -> None:
        self._path = path
        self._folder = folder
        self._earlier = earlier
        self._slots = tuple(slots)
        # Removed policies whose frames may still exist, each with the shard of these frames.
        self._undropped: set[tuple[str, int]] = set()
        # The number of the last checkpoint, whether it succeeded or failed.
        self._number = 0

    def write(
        self,
        replays: Sequence[Any],
        policies: Mapping[str, Any],
        place_of: Callable[[str], Place],
        timeout: timedelta,
    ) -> None:
        """Write the state of every actor, as :meth:`LearnerShards.checkpoint` describes."""
        if self._path is None or self._folder is None:
            raise InvalidOption("checkpoint: checkpoint_dir is not set; pass it to LearnerShards")
        with self._folder.writing():
            self._number += 1
            left = self._take_left()
            _tidy(self._path)  # calls that an earlier checkpoint did not wait for may have written files since then
            try:
                # A replay actor that restarts before the index is written loads the previous checkpoint.
                if loaded := [one for one in left if self._may_resume_frames(self._path, shard=one[1])]:
                    add_dropped(self._path, loaded)
                self._save(self._path, replays, policies, left, timeout)
                kept = {name: Kept(place_of(name), policy_file(name, self._number)) for name in policies}
                files = tuple(replay_file(shard, self._number) for shard in range(len(replays)))
                write_record(self._path, Record(self._number, self._slots, kept, files))
            finally:
                _tidy(self._path)
            self._earlier.drop_left()
            self._undropped -= left
            _name_for_0_1(self._path, files)

    def _save(
        self,
        folder: Path,
        replays: Sequence[Any],
        policies: Mapping[str, Any],
        left: Collection[tuple[str, int]],
        timeout: timedelta,
    ) -> None:
        """Drop the frames of policies that are ``left``. Then let each actor write its file. Raises the first error."""
        drops = {
            f"replay actor of shard {shard}, policy {policy_id}": partial(replays[shard].forget.remote, policy_id)
            for policy_id, shard in left
        }
        writes = {
            f"replay actor of shard {shard}": partial(
                replay.__ray_call__.remote, keep, folder / replay_file(shard, self._number)
            )
            for shard, replay in enumerate(replays)
        }
        for policy_id, actor in policies.items():
            file = folder / policy_file(policy_id, self._number)
            writes[f"policy {policy_id}"] = partial(actor.__ray_call__.remote, keep, file)
        for asks in (drops, writes):
            try:
                answers(asks, Deadline(timeout))
            except CollectorFleetError as error:
                raise _cause(error) from error.__cause__

    def remove(self, policy_id: str, shard: int) -> None:
        """Forget a policy, and record that its frames have to be dropped: in its shard, and in its earlier shard."""
        earlier = self._earlier.place(policy_id)
        self._earlier.forget(policy_id)
        self._undropped |= {(policy_id, one) for one in (shard, shard if earlier is None else earlier.shard)}

    def has_frames_to_drop(self, policy_id: str, shard: int) -> bool:
        """Return whether the shard may still have frames of a removed policy of this id."""
        return (policy_id, shard) in self._undropped

    def drop(self, policy_id: str, shard: int, replay: Any, deadline: Deadline) -> None:
        """Drop the frames of a removed policy. Blocks. Raises the errors of :meth:`LearnerShards.remove_policy`.

        A replay actor that restarts drops the frames again, because its checkpoint may still have them.
        """
        asks = {f"replay actor of shard {shard}": partial(replay.forget.remote, policy_id)}
        try:
            # First write the file, in case the actor restarts meanwhile.
            if self._path is not None and self._folder is not None and self._may_resume_frames(self._path, shard):
                with self._folder.writing():
                    add_dropped(self._path, [(policy_id, shard)])
        except Exception:
            with suppress(CollectorFleetError):  # raise the first error
                answers(asks, deadline)
            raise
        answers(asks, deadline)
        self._undropped.discard((policy_id, shard))

    def _take_left(self) -> frozenset[tuple[str, int]]:
        """Return the policies whose frames have to be dropped, each with the shard of these frames.

        From now on, new policies with these ids start afresh. If the checkpoint drops the frames and then fails, these
        policies would otherwise resume without their frames.
        """
        left = self._earlier.left()
        self._undropped |= set(left.items())
        for policy_id in left:
            self._earlier.forget(policy_id)
        return frozenset(self._undropped)

    def _may_resume_frames(self, folder: Path, shard: int) -> bool:
        """Return whether the shard's replay actor may load frames after a restart."""
        # If this process has not written anything, an index in its folder is another driver's index.
        return (self._number > 0 and is_whole(folder)) or self._earlier.replay_file(shard) is not None

    def origin_of_policy(self, policy_id: str) -> Origin:
        """Return what a new policy resumes from when it starts or restarts."""
        return Origin(policy_id, self._path, self._number + 1, self._earlier.policy_file(policy_id))

    def origin_of_replay(self, shard: int) -> Origin:
        """Return what a replay actor resumes from when it starts or restarts."""
        return Origin(shard, self._path, earlier=self._earlier.replay_file(shard))


def _tidy(folder: Path) -> None:
    """Remove files that the index does not name. If this fails, the next checkpoint tries again."""
    try:
        remove_unnamed(folder)
    except InvalidOption as error:
        log.warning("files of earlier checkpoints are not removed: %s", error)
    except OSError as error:
        log.warning("files of earlier checkpoints will be removed later: %s", describe_failure(error))


def _name_for_0_1(folder: Path, replay_files: Sequence[str]) -> None:
    """Link the replay files to the names that release 0.1.0 reads after a rollback, if the volume has hard links."""
    for shard, name in enumerate(replay_files):
        former = folder / replay_file_of_0_1(shard)
        link = former.with_name(UNFINISHED + former.name)
        with suppress(OSError):
            link.unlink(missing_ok=True)
            os.link(folder / name, link)
            link.replace(former)


def _cause(error: CollectorFleetError) -> Exception:
    """Return the actor's OSError if its volume is full, fails or is read-only. Return any other ``error`` unchanged."""
    raised = error.__cause__
    return (isinstance(raised, Exception) and volume_error(own_error(raised))) or error
