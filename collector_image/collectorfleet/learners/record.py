"""The index of a checkpoint of learner shards: the place and the file of each policy, as JSON.

The index is written last, so that all files that it names exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectorfleet.durable_files import write_json
from collectorfleet.errors import InvalidOption
from collectorfleet.learners.roster import Place
from collectorfleet.stored_json import parse_json

RECORD: Final = "shards.json"
_POLICY_FILE: Final = re.compile(r"policy-[A-Za-z0-9._-]+-[0-9]+\.pt")
_REPLAY_FILE: Final = re.compile(r"replay-[0-9]+\.(pt|dropped\.json)")


@dataclass(frozen=True)
class Kept:
    """A policy's place, and the name of its file."""

    place: Place
    file: str


@dataclass(frozen=True)
class Record:
    """The index of one checkpoint. ``slots`` has the number of places of each shard."""

    slots: tuple[int, ...]
    policies: Mapping[str, Kept]


class Earlier:
    """The earlier checkpoint, if any, that shards resume from. ``slots`` has the number of places of each shard.

    If the shards have the same numbers of places as before, each replay actor loads its frames. Otherwise the replay
    actors start without frames.
    """

    def __init__(self, folder: Path | None, slots: Sequence[int]) -> None:
        """Read the checkpoint. Raise InvalidOption for a folder without a checkpoint."""
        self._folder = folder or Path()
        record = read_record(self._folder) if folder else Record((), {})
        self._is_laid_out_alike = record.slots == tuple(slots)
        # The policies that were not yet added again to the shard with their frames.
        self._waiting = dict(record.policies)

    @property
    def policies(self) -> frozenset[str]:
        """The policies of the checkpoint that were not added again yet."""
        return frozenset(self._waiting)

    def place(self, policy_id: str) -> Place | None:
        """Return the policy's earlier place. The shard of this place has the policy's frames.

        Return None if no shard has frames of this policy.
        """
        return self._waiting[policy_id].place if policy_id in self._waiting and self._is_laid_out_alike else None

    def policy_files(self, policy_id: str) -> list[Path]:
        return [self._folder / self._waiting[policy_id].file] if policy_id in self._waiting else []

    def replay_files(self, shard: int) -> list[Path]:
        return [self._folder / replay_file(shard)] if self._is_laid_out_alike else []

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


def replay_file(shard: int) -> str:
    return f"replay-{shard}.pt"


def is_file_of_learners(name: str) -> bool:
    """Return whether learners write files of this name beside the index."""
    return _POLICY_FILE.fullmatch(name) is not None or _REPLAY_FILE.fullmatch(name) is not None


def is_whole(folder: Path) -> bool:
    """Return whether the folder has a complete checkpoint."""
    return (folder / RECORD).is_file()


def write_record(folder: Path, slots: Sequence[int], policies: Mapping[str, Kept]) -> None:
    """Write the index. Raises OSError."""
    rows = {
        policy_id: {"shard": kept.place.shard, "slot": kept.place.slot, "file": kept.file}
        for policy_id, kept in policies.items()
    }
    write_json(folder / RECORD, {"slots": list(slots), "policies": rows})


def read_record(folder: Path) -> Record:
    """Read the index. Raise InvalidOption for a folder without a checkpoint."""
    try:
        found = parse_json((folder / RECORD).read_text())
        slots = tuple(_count(number) for number in found["slots"])
        return Record(slots, {policy_id: _kept(row, slots) for policy_id, row in found["policies"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidOption(f"resume_from: {folder} has no checkpoint of learner shards: {error}") from error


def _kept(row: Mapping[str, Any], slots: Sequence[int]) -> Kept:
    file, place = row["file"], Place(_count(row["shard"]), _count(row["slot"]))
    # A name with a `/` would lead out of the folder.
    if not isinstance(file, str) or _POLICY_FILE.fullmatch(file) is None:
        raise ValueError(f"{file!r} is not the name of a policy's file")
    if place.shard >= len(slots) or place.slot >= slots[place.shard]:
        raise ValueError(f"shard {place.shard} has no place {place.slot}")
    return Kept(place, file)


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number of at least 0")
    return value
