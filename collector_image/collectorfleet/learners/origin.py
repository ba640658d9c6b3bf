"""What an actor of learner shards resumes from when it starts, or when Ray restarts it."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from collectorfleet.learners.dropped import dropped
from collectorfleet.learners.record import read_own_record

_MISSING = "the checkpoint to resume from is missing; restore the checkpoint, or remove its folder to start over"


@dataclass(frozen=True)
class Saved:
    """The state of an actor in a checkpoint. ``dropped`` has the policies that were removed after the checkpoint."""

    file: Path
    state: Any
    steps: int
    dropped: Sequence[str]


@dataclass(frozen=True)
class Origin:
    """The newest checkpoint in ``folder`` that has the actor, or else the file ``earlier``, or else nothing.

    Attributes:
        owner: the id of the actor's policy, or the index of the replay actor's shard.
        folder: the folder of these shards' checkpoints, if they write checkpoints.
        since: the number of the first checkpoint that can have the actor. Checkpoints with smaller numbers may have a
            removed policy of the same id.
        earlier: the file from which the actor resumes if no checkpoint in ``folder`` has the actor.
    """

    owner: str | int
    folder: Path | None = None
    since: int = 1
    earlier: Path | None = None

    def load(self) -> Saved | None:
        """Load the actor's state. Return None if there is no checkpoint to resume from.

        Raises FileNotFoundError if the file of a checkpoint is missing. Without this error, the user would mistake a
        policy with initial weights for the resumed policy.
        """
        while True:
            file, number = newest = self._newest()
            if file is None:
                return None
            try:
                saved = self._load(file, number)
            except Exception:
                if self._newest() == newest:
                    raise
                continue  # the file of an earlier checkpoint was removed
            # If a newer checkpoint was written meanwhile, all actors resume from it.
            if self._newest() == newest:
                return saved
            del saved  # two states may not fit into the memory

    def _load(self, file: Path, number: int) -> Saved:
        try:
            # The state has objects of the user's classes, so a manipulated file can run code here. A manipulated image
            # can run code here, too.
            kept = torch.load(file, map_location="cpu", weights_only=False)
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, _MISSING, str(file)) from error
        return Saved(file, kept["state"], kept["steps"], self._dropped(number))

    def _newest(self) -> tuple[Path | None, int]:
        """Return the file to resume from, and the number of its checkpoint, which is 0 for :attr:`earlier`."""
        if self.folder is not None:
            record = read_own_record(self.folder)
            if record.number >= self.since:
                owner = self.owner
                name = record.policies[owner].file if isinstance(owner, str) else record.replays[owner]
                return self.folder / name, record.number
        return self.earlier, 0

    def _dropped(self, number: int) -> Sequence[str]:
        if self.folder is None or isinstance(self.owner, str):
            return ()
        return dropped(self.folder, self.owner, number)
