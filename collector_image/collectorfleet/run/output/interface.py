"""What a run writes its batches with, whatever their format on disk."""

from __future__ import annotations

from typing import Protocol

from tensordict import TensorDictBase

from collectorfleet.run.position import Position


class OutputWriter(Protocol):
    """Takes batches in the order in which they come. One thread."""

    @property
    def position(self) -> Position:
        """Where a driver of this run goes on: behind what is on disk."""

    @property
    def summary(self) -> str:
        """What there is, as a sentence."""

    def write(self, batch: TensorDictBase) -> None:
        """Take a batch; blocks now and then, while it and those before it go to disk.

        Raises UserCodeError if code of the user refuses it, InfrastructureError if the volume is full or fails, and
        FolderTakenOver if another driver has the folder.
        """

    def flush(self) -> None:
        """Put everything taken so far on disk. Raises as :meth:`write` does."""
