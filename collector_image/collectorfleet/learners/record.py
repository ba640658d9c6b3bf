"""What a checkpoint of learner shards says beside the files of its actors: who was where, as JSON.

It is written last, so that what it names is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collectorfleet.durable_files import write_json
from collectorfleet.errors import InvalidOption
from collectorfleet.learners.roster import Place

RECORD: Final = "shards.json"


@dataclass(frozen=True)
class Kept:
    """A policy's place, and the name of its file."""

    place: Place
    file: str


@dataclass(frozen=True)
class Record:
    """Of one checkpoint. ``slots`` are the places of each shard."""

    slots: tuple[int, ...]
    policies: Mapping[str, Kept]


class Earlier:
    """What shards with places ``slots`` go on from: a folder that others wrote their checkpoints to, or nothing.

    Shards of the same number of places have the frames of those of the same number; in all others they begin anew.
    """

    def __init__(self, folder: Path | None, slots: Sequence[int]) -> None:
        """Raises InvalidOption for a folder without a checkpoint in it."""
        self._folder = folder or Path()
        record = read_record(self._folder) if folder else Record((), {})
        self._is_laid_out_alike = record.slots == tuple(slots)
        # Those whose frames are still where they were.
        self._waiting = dict(record.policies)

    @property
    def policies(self) -> frozenset[str]:
        """Those that nobody added yet."""
        return frozenset(self._waiting)

    def place(self, policy_id: str) -> Place | None:
        """Where its frames are, if they are anywhere."""
        return self._waiting[policy_id].place if policy_id in self._waiting and self._is_laid_out_alike else None

    def policy_files(self, policy_id: str) -> list[Path]:
        return [self._folder / self._waiting[policy_id].file] if policy_id in self._waiting else []

    def replay_files(self, shard: int) -> list[Path]:
        return [self._folder / replay_file(shard)] if self._is_laid_out_alike else []

    def settled(self, policy_id: str, place: Place) -> None:
        """The policy is there again, at ``place``."""
        before = self.place(policy_id)
        if before is not None and before.shard == place.shard:
            del self._waiting[policy_id]

    def forget(self, policy_id: str) -> None:
        """It was removed: under its id a new one begins."""
        self._waiting.pop(policy_id, None)

    def take_left(self) -> dict[str, int]:
        """The policies that nobody added, or in another shard, and the shard that has their frames; once."""
        left = {policy_id: kept.place.shard for policy_id, kept in self._waiting.items() if self._is_laid_out_alike}
        self._waiting.clear()
        return left


def replay_file(shard: int) -> str:
    return f"replay-{shard}.pt"


def is_whole(folder: Path) -> bool:
    """Whether there is a checkpoint that somebody can go on from."""
    return (folder / RECORD).is_file()


def write_record(folder: Path, slots: Sequence[int], policies: Mapping[str, Kept]) -> None:
    """Raises OSError."""
    rows = {
        policy_id: {"shard": kept.place.shard, "slot": kept.place.slot, "file": kept.file}
        for policy_id, kept in policies.items()
    }
    write_json(folder / RECORD, {"slots": list(slots), "policies": rows})


def read_record(folder: Path) -> Record:
    """Raises InvalidOption for a folder without a checkpoint in it."""
    try:
        found = json.loads((folder / RECORD).read_text())
        policies = {
            policy_id: Kept(Place(row["shard"], row["slot"]), row["file"])
            for policy_id, row in found["policies"].items()
        }
        return Record(tuple(found["slots"]), policies)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidOption(f"resume_from: {folder} has no checkpoint of learner shards: {error}") from error
