"""Define the interface of all output formats."""

from __future__ import annotations

from typing import Protocol

from tensordict import TensorDictBase

from collectorfleet.run.position import Position


class OutputWriter(Protocol):
    """A writer of batches, in the order of delivery. Use it in one thread."""

    @property
    def position(self) -> Position:
        """The position where the next driver of this run continues: after the frames on disk."""

    @property
    def summary(self) -> str:
        """The written output, as a sentence."""

    def write(self, batch: TensorDictBase) -> None:
        """Accept a batch. Some calls block until this batch and earlier batches are on disk.

        Raises UserCodeError if user code raises or the folder cannot be written to. Raises InfrastructureError if the
        volume is full or fails, and FolderTakenOver if another driver has taken over the folder.
        """

    def flush(self) -> None:
        """Write all batches accepted so far to disk. Raises as :meth:`write` does."""
