"""What the gather thread and the consumer's threads have in common, all of it under one lock.

The consumer asks, stages weights and takes batches; the gather thread does the rest. Neither calls the other.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from collectorfleet.errors import CollectorClosed
from collectorfleet.gather.state.first_starts import FirstStarts
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.normalization import FleetNormalization
from collectorfleet.gather.state.notices import Notices
from collectorfleet.gather.state.parameters import FleetParameters
from collectorfleet.gather.state.slots import Slots
from collectorfleet.gather.state.statistics import Statistics
from collectorfleet.gather.state.versions import Versions
from collectorfleet.messages import CollectorId, Stored, Weights


@dataclass(frozen=True)
class Limits:
    """How long things may take, and how few collectors are enough."""

    request: timedelta
    first_request: timedelta
    available: timedelta
    min_available: int


class Staged:
    """Stored weights that are to be published. Newer ones may take their place before they are.

    ``seconds`` is how long storing them took.
    """

    def __init__(self, stored: Stored, seconds: float) -> None:
        self.stored: Stored | None = stored
        self.seconds = seconds
        self.version: int | None = None  # once they are published
        self.replaced_by: Staged | None = None

    @property
    def final(self) -> Staged:
        """Those that the collectors get."""
        found = self
        while found.replaced_by is not None:
            found = found.replaced_by
        return found


class Shared:
    """Everything is read and changed by who holds ``changed``, which is notified when the status changes.

    ``changes`` counts the changes that a person wants to know of at once.
    """

    def __init__(
        self, gather: Gather, collectors: int, limits: Limits, *, has_weights: bool, groups: Sequence[str] = ()
    ) -> None:
        self.gather = gather
        self.slots = Slots(collectors, groups)
        self.versions = Versions()
        self.statistics = Statistics()
        self.normalization = FleetNormalization()
        self.notices = Notices()
        self.first_starts = FirstStarts()
        # What environments are set to; None: they take no parameters.
        self.parameters: FleetParameters | None = None
        self.limits = limits
        self.has_weights = has_weights
        # Who hears of each version, with the frames that were handed out before; it may not block or ask for the lock.
        self.on_publish: Callable[[Weights, int], None] | None = None
        self.draining_pods: frozenset[str] = frozenset()
        self.drained_pods: dict[str, None] = {}
        self.died_nodes: list[str] = []  # which the gather thread has not seen yet
        self.asked = False
        self.staged: Staged | None = None
        self.error: Exception | None = None
        self.closed = False
        self.changed = threading.Condition()
        self.changes = 0
        self.incarnations = 0  # of all collectors so far: each has a number that no other has
        self._incarnations_before = 0  # in the runs that this one continues
        self._generations: Counter[str] = Counter()  # incarnations of each slot in this run

    def next_incarnation(self, name: str) -> CollectorId:
        """What fills the slot ``name`` next."""
        self.incarnations += 1
        # A slot had fewer incarnations in earlier runs than all slots together, so that no generation comes again.
        generation = self._incarnations_before + self._generations[name]
        self._generations[name] += 1
        return CollectorId(name, self.incarnations, generation)

    def continued(self, incarnations: int) -> None:
        """There were so many incarnations in the runs that this one continues."""
        self._incarnations_before = incarnations
        self.incarnations = max(self.incarnations, incarnations)

    @property
    def over(self) -> bool:
        return self.closed or self.error is not None

    @property
    def due(self) -> bool:
        """Whether the batch that the consumer asked for waits for it."""
        return self.gather.chosen is not None

    @property
    def frames_discarded(self) -> int:
        """Of answers that came and that nobody ever gets: too late, or left over when the run was over."""
        left_over = self.gather.admissions.frames_waiting if self.over or self.gather.finished else 0
        return self.statistics.frames_too_late + left_over

    def note_change(self, *, urgent: bool = False) -> None:
        """Something that the status shows has changed."""
        self.changes += urgent
        self.changed.notify_all()

    def raise_if_failed(self) -> None:
        """Raise the error that ended the gather, if one did."""
        if self.error:
            raise self.error

    def raise_if_over(self) -> None:
        """Raise what ended the gather: its error, or that it was closed."""
        self.raise_if_failed()
        if self.closed:
            raise CollectorClosed("the collector was shut down")

    def abort(self, error: Exception) -> None:
        """End the iteration with ``error``, unless another one came first."""
        self.error = self.error or error
        self.note_change(urgent=True)

    def wait_for(self, condition: Callable[[], object], timeout: float | None = None) -> None:
        """Block until ``condition`` holds, the end, or ``timeout`` seconds passed."""
        self.changed.wait_for(lambda: condition() or self.over, timeout)
