"""Define the interface of a run to its checkpoints, and an implementation without checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Protocol

from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import CheckpointStatus


class Checkpoints(Protocol):
    """The checkpoints of a run. Use all but :attr:`status` on the main thread. ``position`` is the run's progress."""

    @property
    def status(self) -> CheckpointStatus | None:
        """The status of the newest checkpoint, with the cause if a later write failed.

        Any thread may read this attribute.
        """

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""

    @property
    def is_restored(self) -> bool:
        """Whether all states in the checkpoint that the run resumes from were restored."""

    def keep(self, objects: Mapping[str, Any]) -> bool:
        """See :meth:`collectorfleet.run.handle.Run.keep`."""

    def keep_buffer(self, buffer: Any) -> None:
        """Add the replay buffer to all checkpoints, and load it from the checkpoint that the run resumes from.

        Call this before the first write to the buffer. Blocks. Raises UserCodeError or ReplayBufferLost.
        """

    def add_writer(self, write: Callable[[timedelta], None]) -> None:
        """Before each checkpoint, call ``write`` with a timeout. ``write`` writes its own files.

        If ``write`` raises CollectorFleetError or OSError, no checkpoint is written.
        """

    def note(self, position: Position) -> None:
        """Note the progress when a batch is delivered, and before a publish. Takes microseconds."""

    def write_in_background(self, position: Position) -> None:
        """Take a snapshot now, and write it while training continues.

        Raises CollectorFleetError if the snapshot fails and no checkpoint exists yet.
        """

    def write(self, position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        """Write a checkpoint. Blocks until the write has ended, and returns whether the checkpoint is on disk.

        If ``soon`` is True, learners have one minute instead of one hour to write their checkpoints.
        """

    def remember(self, position: Position, *, at_any_cost: bool = False) -> None:
        """Keep the state in memory for :meth:`write_remembered`, if this is cheap enough.

        If ``at_any_cost`` is True, always keep the state in memory.
        """

    def write_remembered(self, position: Position) -> bool:
        """Write the remembered state, unless it is on disk already. With learners, write the current state instead.

        ``position`` is used only with learners. Blocks until the write has ended. Returns whether the state is on disk.
        """


class NoCheckpoints:
    """The :class:`Checkpoints` of a run without ``driver.checkpoint``: each call does nothing."""

    status: CheckpointStatus | None = None
    due = False
    is_restored = True

    def keep(self, _objects: Mapping[str, Any]) -> bool:
        return False

    def keep_buffer(self, buffer: Any) -> None: ...

    def add_writer(self, write: Callable[[timedelta], None]) -> None: ...

    def note(self, position: Position) -> None: ...

    def write_in_background(self, position: Position) -> None: ...

    def write(self, _position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        del completed, soon
        return False

    def remember(self, _position: Position, *, at_any_cost: bool = False) -> None:
        del at_any_cost

    def write_remembered(self, _position: Position) -> bool:
        return False
