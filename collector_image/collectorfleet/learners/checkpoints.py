"""Write the checkpoints of learner shards, name their files, and drop frames that no policy needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from collectorfleet.durable_files import volume_error
from collectorfleet.errors import CollectorFleetError, InvalidOption
from collectorfleet.learners.calls import Deadline, answers
from collectorfleet.learners.checkpoint_folder import CheckpointFolder
from collectorfleet.learners.record import Earlier, Kept, replay_file, write_record
from collectorfleet.learners.returning import keep, note_dropped
from collectorfleet.learners.roster import Place
from collectorfleet.transport.ray.replay_buffer import own_error


@dataclass(frozen=True)
class Learner:
    """A policy's actor, and the file of its checkpoints. The file is None if the shards write no checkpoints."""

    actor: Any
    kept_in: Path | None  # a new file, because an earlier policy of the same id may still write its file


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
        self._slots = slots
        # Removed policies whose frames may still exist, each with the shard of these frames.
        self._undropped: set[tuple[str, int]] = set()
        # Files of removed policies, which the index on disk may still name.
        self._unneeded: list[Path] = []
        self._added = 0
        self._has_begun_to_write = False

    def write(
        self,
        replays: Sequence[Any],
        policies: Mapping[str, Learner],
        place_of: Callable[[str], Place],
        timeout: timedelta,
    ) -> None:
        """Write the state of every actor, as :meth:`LearnerShards.checkpoint` describes."""
        if self._path is None or self._folder is None:
            raise InvalidOption("checkpoint: checkpoint_dir is not set; pass it to LearnerShards")
        with self._folder.writing():
            self._has_begun_to_write = True
            left = self._undropped | set(self._earlier.left().items())
            drops = {
                f"replay actor of shard {shard}, policy {policy_id}": partial(replays[shard].forget.remote, policy_id)
                for policy_id, shard in left
            }
            writes = {
                f"replay actor of shard {shard}": partial(
                    replay.__ray_call__.remote,
                    keep,
                    self._replay_file(shard),
                    [policy_id for policy_id, its_shard in left if its_shard == shard],
                )
                for shard, replay in enumerate(replays)
            }
            for policy_id, learner in policies.items():
                writes[f"policy {policy_id}"] = partial(learner.actor.__ray_call__.remote, keep, learner.kept_in)
            failures = []
            for asks in (drops, writes):
                try:
                    answers(asks, Deadline(timeout))
                except CollectorFleetError as error:
                    failures.append(error)
            if failures:
                raise _cause(failures[0])
            kept = {
                policy_id: Kept(place_of(policy_id), learner.kept_in.name)
                for policy_id, learner in policies.items()
                if learner.kept_in is not None
            }
            write_record(self._path, self._slots, kept)
            self._earlier.drop_left()
            self._undropped -= left
            while self._unneeded:
                self._unneeded.pop().unlink(missing_ok=True)

    def remove(self, policy_id: str, shard: int, file: Path | None) -> None:
        """Forget a policy, and record that its frames have to be dropped: in its shard, and in its earlier shard."""
        earlier = self._earlier.place(policy_id)
        self._earlier.forget(policy_id)
        self._undropped |= {(policy_id, one) for one in (shard, shard if earlier is None else earlier.shard)}
        self._unneeded += present(file)

    def has_frames_to_drop(self, policy_id: str, shard: int) -> bool:
        """Return whether the shard may still have frames of a removed policy of this id."""
        return (policy_id, shard) in self._undropped

    def drop(self, policy_id: str, shard: int, replay: Any, deadline: Deadline) -> None:
        """Drop the frames of a removed policy. Blocks. Raises the errors of :meth:`LearnerShards.remove_policy`.

        A replay actor that restarts drops the frames again, because its checkpoint may still have them.
        """
        who = f"replay actor of shard {shard}"
        asks = {who: partial(replay.forget.remote, policy_id)}
        kept = self._replay_file(shard)
        if self._folder is None or kept is None or not self._may_resume_frames(shard):
            answers(asks, deadline)
        else:
            # The actor handles its calls in order, so first note the policy, in case the actor restarts meanwhile.
            asks = {f"{who}, {kept}": partial(replay.__ray_call__.remote, note_dropped, kept, policy_id), **asks}
            with self._folder.writing():
                self._has_begun_to_write = True
                try:
                    answers(asks, deadline)
                except CollectorFleetError as error:
                    raise _cause(error) from error.__cause__
        self._undropped.discard((policy_id, shard))

    def _may_resume_frames(self, shard: int) -> bool:
        """Return whether the shard's replay actor may load frames after a restart."""
        # If this process has not written anything, a file in its folder is another driver's file. A checkpoint that
        # has begun may write its file later.
        return self._has_begun_to_write or bool(self._earlier.replay_files(shard))

    def new_policy_file(self, policy_id: str) -> Path | None:
        """Return the path of a file that no earlier policy uses."""
        self._added += 1
        return self._file(f"policy-{policy_id}-{self._added}.pt")

    def replay_files(self, shard: int) -> list[Path]:
        """Return the files that a replay actor resumes from, the newest first."""
        return [*present(self._replay_file(shard)), *self._earlier.replay_files(shard)]

    def _replay_file(self, shard: int) -> Path | None:
        return self._file(replay_file(shard))

    def _file(self, name: str) -> Path | None:
        return None if self._path is None else self._path / name


def present(file: Path | None) -> list[Path]:
    return [] if file is None else [file]


def _cause(error: CollectorFleetError) -> Exception:
    """Return the actor's OSError if its volume is full, fails or is read-only. Return any other ``error`` unchanged."""
    raised = error.__cause__
    return (isinstance(raised, Exception) and volume_error(own_error(raised))) or error
