"""The index of a checkpoint of learner shards, as JSON: the place and the file of each policy, and the replay files.

Each checkpoint has a number and writes new files, whose names have the number. The index is written last, so the
checkpoint changes for all actors at once. The files that the index no longer names are removed afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import UNFINISHED, write_json
from collectorfleet.errors import InvalidOption
from collectorfleet.learners.roster import Place
from collectorfleet.stored_json import parse_json

RECORD: Final = "shards.json"
DROPPED: Final = "dropped.json"
_POLICY_FILE: Final = re.compile(r"policy-[A-Za-z0-9._-]+-[0-9]+\.pt")
_REPLAY_FILE: Final = re.compile(r"replay-[0-9]+(-[0-9]+)?\.pt")


@dataclass(frozen=True)
class Kept:
    """A policy's place, and the name of its file."""

    place: Place
    file: str


@dataclass(frozen=True)
class Record:
    """The index of one checkpoint. Checkpoints of a folder are numbered from 1 on.

    ``slots`` has the number of places of each shard, and ``replays`` the name of each shard's replay file.
    """

    number: int = 0
    slots: tuple[int, ...] = ()
    policies: Mapping[str, Kept] = field(default_factory=dict)
    replays: tuple[str, ...] = ()

    @property
    def files(self) -> frozenset[str]:
        """The names of all files of the checkpoint, without the index."""
        return frozenset([*self.replays, *(kept.file for kept in self.policies.values())])


class Earlier:
    """The earlier checkpoint, if any, that shards resume from. ``slots`` has the number of places of each shard.

    If the shards have the same numbers of places as before, each replay actor loads its frames. Otherwise the replay
    actors start without frames.
    """

    def __init__(self, folder: Path | None, slots: Sequence[int]) -> None:
        """Read the checkpoint. Raise InvalidOption for a folder without a checkpoint."""
        self._folder = folder or Path()
        record = read_record(self._folder) if folder else Record()
        self._replays = record.replays
        self._slots = record.slots
        self._is_laid_out_alike = record.slots == tuple(slots)
        # The policies that were not yet added again to the shard with their frames.
        self._waiting = dict(record.policies)

    @property
    def dropped(self) -> str:
        """The earlier places of shards that start without their earlier frames, such as "2+1". Otherwise empty."""
        return "" if self._is_laid_out_alike else "+".join(map(str, self._slots))

    @property
    def policies(self) -> frozenset[str]:
        """The policies of the checkpoint that were not added again yet."""
        return frozenset(self._waiting)

    def place(self, policy_id: str) -> Place | None:
        """Return the policy's earlier place. The shard of this place has the policy's frames.

        Return None if no shard has frames of this policy.
        """
        return self._waiting[policy_id].place if policy_id in self._waiting and self._is_laid_out_alike else None

    def policy_file(self, policy_id: str) -> Path | None:
        return self._folder / self._waiting[policy_id].file if policy_id in self._waiting else None

    def replay_file(self, shard: int) -> Path | None:
        return self._folder / self._replays[shard] if self._is_laid_out_alike else None

    def settled(self, policy_id: str, place: Place) -> None:
        """Record that the policy was added again at ``place``."""
        before = self.place(policy_id)
        if before is not None and before.shard == place.shard:
            del self._waiting[policy_id]

    def forget(self, policy_id: str) -> None:
        """Drop a removed policy, so that a new policy with this id starts afresh."""
        self._waiting.pop(policy_id, None)

    def left(self) -> dict[str, int]:
        """Return the policies that were not added again to their earlier shard.

        The value of each policy is the index of the shard that has the policy's frames.
        """
        return {policy_id: kept.place.shard for policy_id, kept in self._waiting.items() if self._is_laid_out_alike}

    def drop_left(self) -> None:
        """Drop all policies that were not added again to their earlier shard.

        New policies with these ids start afresh.
        """
        self._waiting.clear()


def policy_file(policy_id: str, number: int) -> str:
    """Return the name of the policy's file in checkpoint ``number``."""
    return f"policy-{policy_id}-{number}.pt"


def replay_file(shard: int, number: int) -> str:
    """Return the name of the shard's replay file in checkpoint ``number``."""
    return f"replay-{shard}-{number}.pt"


def replay_file_of_0_1(shard: int) -> str:
    """Return the name that release 0.1.0 reads. Its index does not name the replay files."""
    return f"replay-{shard}.pt"


def is_file_of_learners(name: str) -> bool:
    """Return whether learners write files of this name beside the index."""
    return name == DROPPED or _is_file_of_actor(name)


def _is_file_of_actor(name: str) -> bool:
    return _POLICY_FILE.fullmatch(name) is not None or _REPLAY_FILE.fullmatch(name) is not None


def is_whole(folder: Path) -> bool:
    """Return whether the folder has a complete checkpoint."""
    return (folder / RECORD).is_file()


def write_record(folder: Path, record: Record) -> None:
    """Write the index. Raises OSError."""
    policies = {
        policy_id: {"shard": kept.place.shard, "slot": kept.place.slot, "file": kept.file}
        for policy_id, kept in record.policies.items()
    }
    rows = {"number": record.number, "slots": record.slots, "policies": policies, "replays": record.replays}
    write_json(folder / RECORD, rows)


def read_record(folder: Path) -> Record:
    """Read the index that shards resume from. Raise InvalidOption for a folder without a checkpoint."""
    try:
        return parse_record((folder / RECORD).read_text())
    except (OSError, ValueError) as error:
        raise _refused("resume_from", folder, error) from error


def read_own_record(folder: Path) -> Record:
    """Read the index of these shards. Return a Record with the number 0 if there is no checkpoint.

    Raises OSError if the volume fails, and InvalidOption if the content of the index is wrong.
    """
    try:
        return parse_record((folder / RECORD).read_text())
    except FileNotFoundError:
        return Record()
    except ValueError as error:
        raise _refused("checkpoint_dir", folder, error) from error


def parse_record(text: str) -> Record:
    """Return the index with this text. Raises ValueError."""
    try:
        found = parse_json(text)
        slots = tuple(_count(number) for number in found["slots"])
        policies = {policy_id: _kept(row, slots) for policy_id, row in found["policies"].items()}
        if "replays" not in found:  # release 0.1.0
            return Record(0, slots, policies, tuple(replay_file_of_0_1(shard) for shard in range(len(slots))))
        replays = tuple(_file_name(name, _REPLAY_FILE, "replay") for name in found["replays"])
        if len(replays) != len(slots):
            raise ValueError(f"{len(replays)} replay files are named for {len(slots)} shards")
        return Record(_count(found["number"]), slots, policies, replays)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def remove_unnamed(folder: Path) -> None:
    """Remove the actors' files that the index does not name: of earlier checkpoints, and of those that failed.

    A file that cannot be removed now is removed at the next call. Raises OSError if the volume fails, and InvalidOption
    if the content of the index is wrong.
    """
    record = read_own_record(folder)
    named = {*record.files, *map(replay_file_of_0_1, range(len(record.slots)))}
    for name in os.listdir(folder):
        if name not in named and _is_file_of_actor(name.removeprefix(UNFINISHED)):
            with suppress(OSError):
                (folder / name).unlink()


def _refused(option: str, folder: Path, error: Exception) -> InvalidOption:
    return InvalidOption(f"{option}: {folder} has no checkpoint of learner shards: {error}")


def _kept(row: Mapping[str, Any], slots: Sequence[int]) -> Kept:
    file, place = row["file"], Place(_count(row["shard"]), _count(row["slot"]))
    if place.shard >= len(slots) or place.slot >= slots[place.shard]:
        raise ValueError(f"shard {place.shard} has no place {place.slot}")
    return Kept(place, _file_name(file, _POLICY_FILE, "policy"))


def _file_name(name: object, pattern: re.Pattern[str], kind: str) -> str:
    # A name with a `/` would lead out of the folder.
    if not isinstance(name, str) or pattern.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not the name of a {kind} file")
    return name


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number of at least 0")
    return value
