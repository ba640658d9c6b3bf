"""What the consumer's threads ask of a gather: batches, publishes, another size, a pause, the end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from collectorfleet.errors import CollectorClosed, InvalidOption
from collectorfleet.gather.publishing import Publication, PublishResult, results
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.pieces import Batch, Life
from collectorfleet.gather.state.plan import Plan
from collectorfleet.gather.state.roster import Roster
from collectorfleet.gather.state.statistics import Statistics
from collectorfleet.gather.state.versions import WeightsStore
from collectorfleet.messages import Address
from collectorfleet.policies.deadline import LearnedDeadline
from collectorfleet.policies.failure import FailurePolicy
from collectorfleet.policies.scaling import ScalingPolicy
from collectorfleet.transport.interface import Transport

log = logging.getLogger("collectorfleet")


@dataclass(frozen=True)
class Limits:
    """How long things may take, and how few collectors are enough."""

    request: timedelta
    first_request: timedelta
    available: timedelta
    min_available: int


@dataclass(frozen=True)
class Policies:
    failure: FailurePolicy
    scaling: ScalingPolicy


class ConsumerSide:
    """What the consumer's threads see of a gather. Every method may be called from any thread.

    ``replanned`` gives the plan for another number of collectors; None keeps it.
    """

    def __init__(
        self,
        transport: Transport,
        gather: Gather,
        *,
        collectors: int,
        limits: Limits,
        policies: Policies,
        has_weights: bool,
        replanned: Callable[[Plan, int], Plan] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gather = gather
        self.store = WeightsStore()
        self.statistics = Statistics()
        self.roster = Roster(collectors)
        self.changed = threading.Condition()
        self.changes = 0
        self.drained_pods: dict[str, None] = {}
        self._transport = transport
        self._limits = limits
        self._policies = policies
        self._deadline = LearnedDeadline(limits.request.total_seconds(), limits.first_request.total_seconds())
        self._has_weights = has_weights
        self._replanned = replanned
        self._clock = clock
        self._serial = 0
        self._publication: Publication | None = None
        self._asked = False
        self._due: Batch | None = None
        self._error: Exception | None = None
        self._closed = False
        self._too_few_since: float | None = clock()
        self._thread = threading.Thread(target=self._run, name="collectorfleet-gather", daemon=True)

    def _run(self) -> None:
        """The gather thread."""
        raise NotImplementedError

    def start(self) -> None:
        self._thread.start()

    def publish(self, snapshot: Any) -> Publication:
        """Publish a snapshot as the next version; one that still waits is replaced by it.

        Blocks until it is stored, so what it was taken of may change afterwards.
        """
        started = self._clock()
        stored = self._transport.put(snapshot)
        publication = Publication(stored, self._clock() - started)
        with self.changed:
            replaced, self._publication = self._publication, publication
            if replaced is not None:
                replaced.replaced_by, replaced.stored = publication, None
            self._has_weights = True
        self._transport.wake()
        return publication

    def next(self) -> Batch | None:
        """Block until a batch is handed out, and return it; None at the end."""
        started = self._clock()
        with self.changed:
            if not self.ask():
                return None
            self.changed.wait_for(lambda: self._due is not None or self._error or self._closed)
            batch = self.take()
            self.statistics.waited(self._clock() - started)
            return batch

    def ask(self) -> bool:
        """The consumer wants a batch; False if it had the last one. The caller holds the lock."""
        self._raise_if_over()
        if self.gather.finished:
            return False
        self._asked = self.gather.begun = True
        self._transport.wake()
        return True

    def take(self) -> Batch | None:
        """What was asked for, once it is there. The caller holds the lock."""
        self._raise_if_over()
        batch, self._due = self._due, None
        return batch

    @property
    def finished(self) -> bool:
        """Whether the frames asked for were handed out."""
        with self.changed:
            return self.gather.finished

    def resize(self, collectors: int, min_available: int | None = None) -> None:
        with self.changed:
            if min_available is not None:
                self._limits = replace(self._limits, min_available=min_available)
            pods = {name: member.pod for name, member in self.gather.members.items()}
            for name in self.roster.resize(collectors, pods, self._policies.scaling):
                log.info("%s leaves: %d collectors are wanted", name, collectors)
            if self._replanned is not None:
                self.gather.plan = self._replanned(self.gather.plan, collectors)
            self._note_change(urgent=True)
        self._transport.wake()

    def pause(self, timeout: float) -> bool:
        """Send no more requests, and block until those under way are answered; False after ``timeout`` seconds."""
        with self.changed:
            self.gather.paused = True
            self.changed.wait_for(lambda: self.gather.busy == 0 or self._error or self._closed, timeout)
            return self.gather.busy == 0

    def resume(self) -> None:
        with self.changed:
            self.gather.paused = False
        self._transport.wake()

    def wait_applied(self, publication: Publication, timeout: float) -> Mapping[str, PublishResult]:
        """Block until every available collector applied it; returns what became of it in each, by name."""

        def applied() -> bool:
            version = publication.final.version
            return version is not None and (self.gather.acknowledged or 0) >= version and self._everyone_joined()

        with self.changed:
            self.changed.wait_for(lambda: applied() or self._error or self._closed, timeout)
            return results(publication.final.version, self.gather, self.roster)

    def wait_built(self, timeout: float) -> dict[str, Address]:
        """Block until every collector that is wanted is built; returns who there is."""
        with self.changed:
            self.changed.wait_for(lambda: self._everyone_joined(built=True) or self._error or self._closed, timeout)
            self._raise_if_over()
            members = self.gather.members.values()
            return {m.address.name: m.address for m in members if m.life is not Life.STARTING}

    def counters(self) -> dict[str, Any]:
        """What a later fleet needs to go on from here; the caller holds the lock."""
        return {
            "frames": self.gather.frames_handed_out,
            "batches": self.statistics.batches,
            "version": self.gather.version,
            "lives": self._serial,
        }

    def restore(self, counters: Mapping[str, Any]) -> None:
        """Go on from ``counters``; raises InvalidOption if batches were collected already."""
        with self.changed:
            if self.gather.begun:
                raise InvalidOption(
                    f"load_state_dict: {self.statistics.batches} batches were collected already; load before the first"
                )
            self.gather.restored(int(counters["frames"]), int(counters["version"]))
            # Trajectory ids and seeds follow from it.
            self._serial = max(self._serial, int(counters.get("lives", 0)))
            self.statistics.restore(int(counters["frames"]), int(counters.get("batches", 0)))

    def close(self, timeout: float | None) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        self._transport.wake()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _everyone_joined(self, *, built: bool = False) -> bool:
        there = [m for m in self.gather.members.values() if m.life is Life.READY or (built and m.life is Life.JOINING)]
        return len(there) >= self.roster.desired - self.roster.lost_for_good

    def _raise_if_over(self) -> None:
        if self._error:
            raise self._error
        if self._closed:
            raise CollectorClosed("the collector was shut down")

    def note(self) -> None:
        """Something that the status shows has changed."""
        with self.changed:
            self._note_change()

    def _abort(self, error: Exception) -> None:
        with self.changed:
            self._error = self._error or error
            self._note_change(urgent=True)

    def _note_change(self, *, urgent: bool = False) -> None:
        self.changes += urgent
        self.changed.notify_all()
