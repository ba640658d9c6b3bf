"""What a run does about checkpoints, whether it has any or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Protocol

from collectorfleet.run.position import Position
from collectorfleet_api.v1alpha1 import CheckpointStatus


class Checkpoints(Protocol):
    """All calls but :attr:`status` are the main thread's. A ``position`` is where the run is at the call."""

    @property
    def status(self) -> CheckpointStatus | None:
        """The newest checkpoint, and why there is no newer one. Any thread may ask."""

    @property
    def due(self) -> bool:
        """Whether it is time for the next one."""

    def keep(self, objects: Mapping[str, Any]) -> bool:
        """See :meth:`collectorfleet.run.handle.Run.keep`."""

    def keep_buffer(self, buffer: Any) -> None:
        """Have the replay buffer in all checkpoints, and load it from the one that the run goes on from.

        Before anybody writes to it. Blocks; raises UserCodeError or ReplayBufferLost.
        """

    def keep_beside(self, write: Callable[[timedelta], None]) -> None:
        """Call ``write`` before each checkpoint is taken: what it writes, within that time, has places of its own.

        It raises CollectorFleetError or OSError where it cannot, and there is no checkpoint then.
        """

    def note(self, position: Position) -> None:
        """Note how far the run is, in microseconds: as a batch is handed out, and before versions are published."""

    def write_in_background(self, position: Position) -> None:
        """Take a snapshot now, and write it while the training goes on.

        Raises CollectorFleetError if what is kept cannot be written, before there ever was a checkpoint.
        """

    def write(self, position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        """Write a checkpoint; blocks until it is on disk. Returns whether it is.

        ``soon``: learners have a minute to write what they are, and not an hour.
        """

    def remember(self, position: Position, *, at_any_cost: bool = False) -> None:
        """Keep the state in memory, for :meth:`write_remembered`: every time, or where it costs the training little."""

    def write_remembered(self, position: Position) -> bool:
        """Write what was last remembered, unless it is on disk; with learners all as it is now, at ``position``.

        Blocks until it is on disk; returns whether it is.
        """


class NoCheckpoints:
    """Of a run without ``driver.checkpoint``: nothing is kept, and nobody complains."""

    status: CheckpointStatus | None = None
    due = False

    def keep(self, _objects: Mapping[str, Any]) -> bool:
        return False

    def keep_buffer(self, buffer: Any) -> None: ...

    def keep_beside(self, write: Callable[[timedelta], None]) -> None: ...

    def note(self, position: Position) -> None: ...

    def write_in_background(self, position: Position) -> None: ...

    def write(self, _position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        del completed, soon
        return False

    def remember(self, _position: Position, *, at_any_cost: bool = False) -> None:
        del at_any_cost

    def write_remembered(self, _position: Position) -> bool:
        return False
