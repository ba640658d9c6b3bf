"""The state that the gather thread and the consumer's threads share, under one lock.

The consumer requests batches, stages weights and takes finished batches. The gather thread does everything else. The
consumer and the gather thread communicate only through this state.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

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

# A replaced pod has a new name, so a long run drains any number of pods.
_KEPT_DRAINED_PODS: Final = 1000


@dataclass(frozen=True)
class Limits:
    """Deadlines, and the minimum number of available collectors.

    ``request`` and ``first_request`` are the shortest deadlines of a request and of a collector's first request. The
    building of a collector has the deadline ``first_request``, and so has the loading of its first weights.
    ``available`` is the longest time for which fewer than ``min_available`` collectors may be available.
    """

    request: timedelta
    first_request: timedelta
    available: timedelta
    min_available: int


class Staged:
    """Stored weights that are not published yet. Newer weights may replace them before they are published.

    ``seconds`` is the time in seconds that it took to store these weights.
    """

    def __init__(self, stored: Stored, seconds: float) -> None:
        self.stored: Stored | None = stored
        self.seconds = seconds
        self.version: int | None = None  # None until they are published
        self.replaced_by: Staged | None = None

    @property
    def final(self) -> Staged:
        """The weights that will be published: these weights, or the newest weights that replaced them."""
        found = self
        while found.replaced_by is not None:
            found = found.replaced_by
        return found


class Shared:
    """All shared state. Hold the lock of ``changed`` to read or change the state.

    A change of the status notifies threads that wait for ``changed``. ``changes`` counts only urgent changes, which a
    person wants to see at once.
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
        # The parameters of the environments. None if the environments take no parameters.
        self.parameters: FleetParameters | None = None
        self.limits = limits
        self.has_weights = has_weights
        # A function that is called for each published version. It gets the version, and the number of frames that were
        # handed out before. It must neither block nor acquire the lock.
        self.on_publish: Callable[[Weights, int], None] | None = None
        self.draining_pods: frozenset[str] = frozenset()
        self.drained_pods: dict[str, None] = {}  # at least all drained pods of `draining_pods`
        self.died_nodes: list[str] = []  # not yet processed by the gather thread
        self.is_batch_wanted = False
        self.staged: Staged | None = None
        self.error: Exception | None = None
        self.closed = False
        self.changed = threading.Condition()
        self.changes = 0
        self.incarnations = 0  # number of incarnations so far, over all slots
        self._incarnations_before = 0  # in the earlier runs that this run continues
        self._generations: Counter[str] = Counter()  # incarnations of each slot in this run

    def next_incarnation(self, name: str) -> CollectorId:
        """Return the id of the next incarnation in the slot ``name``."""
        self.incarnations += 1
        # The earlier runs had at least as many incarnations in total as in this slot. So no generation of a slot occurs
        # twice.
        generation = self._incarnations_before + self._generations[name]
        self._generations[name] += 1
        return CollectorId(name, self.incarnations, generation)

    def continued(self, incarnations: int) -> None:
        """Continue earlier runs that had this number of incarnations in total."""
        self._incarnations_before = incarnations
        self.incarnations = max(self.incarnations, incarnations)

    def note_drained(self, pod: str) -> None:
        """Record that the pod has no collectors. If more than 1000 pods are known, drop old pods.

        Pods that should still be drained are not dropped.
        """
        self.drained_pods.pop(pod, None)  # a pod that drains again is the newest pod
        self.drained_pods[pod] = None
        surplus = len(self.drained_pods) - _KEPT_DRAINED_PODS
        if surplus > 0:
            old = [one for one in self.drained_pods if one not in self.draining_pods]
            for one in old[:surplus]:
                del self.drained_pods[one]

    @property
    def over(self) -> bool:
        return self.closed or self.error is not None

    @property
    def due(self) -> bool:
        """Whether the batch that the consumer requested is ready."""
        return self.gather.chosen is not None

    @property
    def frames_discarded(self) -> int:
        """The number of frames that were collected but not handed out.

        The answers with these frames came too late, or the run ended before the frames could be handed out.
        """
        left_over = self.gather.admissions.frames_waiting if self.over or self.gather.finished else 0
        return self.statistics.frames_too_late + left_over

    def note_change(self, *, urgent: bool = False) -> None:
        """Notify threads that wait for a change of the status. ``urgent``: count the change in ``changes``."""
        self.changes += urgent
        self.changed.notify_all()

    def raise_if_failed(self) -> None:
        """If an error ended the gather, raise this error."""
        if self.error:
            raise self.error

    def raise_if_over(self) -> None:
        """If an error ended the gather, raise this error. If the gather was closed, raise CollectorClosed."""
        self.raise_if_failed()
        if self.closed:
            raise CollectorClosed("the collector was shut down")

    def abort(self, error: Exception) -> None:
        """End the iteration with ``error``.

        If an earlier error has already ended the iteration, the earlier error remains.
        """
        self.error = self.error or error
        self.note_change(urgent=True)

    def wait_for(self, condition: Callable[[], object], timeout: float | None = None) -> None:
        """Block until ``condition`` is true, the run ends, or ``timeout`` seconds have passed."""
        self.changed.wait_for(lambda: condition() or self.over, timeout)
