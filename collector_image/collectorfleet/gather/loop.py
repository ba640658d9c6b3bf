"""The gather thread: the only one that talks to the transport, so that collectors go on while the consumer trains.

Read :meth:`GatherLoop._turn`: publish, start, submit, hand over, wait for anything, accept or fail.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from collectorfleet.errors import CollectorClosed, TooFewCollectors, UserCodeError
from collectorfleet.gather.state import Batch, Gather, Life, Member
from collectorfleet.gather.statistics import Statistics
from collectorfleet.policies.failure import FailurePolicy, GiveUp, Loss
from collectorfleet.transport.base import Address, Applied, Event, Finished, Lost, Raised, Started, Transport
from collectorfleet.weights.store import PublishFailure, WeightsStore

log = logging.getLogger("collectorfleet")

# Deadlines and pauses are looked at this often; everything else wakes the thread by itself.
_LONGEST_WAIT_SECONDS = 0.25
# A request may take this many times the longest that one has taken so far.
_DEADLINE_FACTOR = 5


@dataclass(frozen=True)
class Limits:
    """How long things may take."""

    request: timedelta
    first_request: timedelta
    available: timedelta


@dataclass
class Retired:
    """A collector that is not there now, and when it comes back; None: it does not."""

    cause: str
    restart_at: float | None


class GatherLoop:
    """Owns the state and the transport. Public methods may be called from any thread."""

    def __init__(
        self,
        transport: Transport,
        gather: Gather,
        *,
        collectors: int,
        min_available: int,
        limits: Limits,
        policy: FailurePolicy,
        has_weights: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gather = gather
        self.store = WeightsStore()
        self.statistics = Statistics()
        self.desired = collectors
        self.retired: dict[str, Retired] = {}
        self.restarts: dict[str, int] = {}
        self.last_error: dict[str, str] = {}
        self.first_cause: str | None = None
        self.changed = threading.Condition()
        self.changes = 0
        self._transport = transport
        self._min_available = min_available
        self._limits = limits
        self._policy = policy
        self._has_weights = has_weights
        self._clock = clock
        self._serial = 0
        self._snapshot: Any = None
        self._due: Batch | None = None
        self._error: Exception | None = None
        self._closed = False
        self._longest_request = 0.0
        self._too_few_since: float | None = clock()
        self._thread = threading.Thread(target=self._run, name="collectorfleet-gather", daemon=True)

    # ---------------------------------------------------------------- for the consumer
    def start(self) -> None:
        self._thread.start()

    def publish(self, snapshot: Any) -> None:
        """Publish a snapshot as the next version; one that still waits is replaced by it."""
        with self.changed:
            self._snapshot = snapshot
        self._transport.wake()

    def next(self) -> Batch | None:
        """Block until a batch is handed out, and return it; None at the end."""
        started = self._clock()
        with self.changed:
            self._raise_if_over()
            if self.gather.finished:
                return None
            self.gather.asked = True
            self._transport.wake()
            self.changed.wait_for(lambda: self._due is not None or self._error or self._closed)
            self._raise_if_over()
            batch, self._due = self._due, None
            self.statistics.waited(self._clock() - started)
            return batch

    @property
    def finished(self) -> bool:
        """Whether the frames asked for were handed out."""
        with self.changed:
            return self.gather.finished

    def resize(self, collectors: int) -> None:
        with self.changed:
            self.desired = collectors
            self._note_change()
        self._transport.wake()

    def wait_applied(self, version: int, timeout: float) -> dict[str, int | None]:
        """Block until every available collector applied ``version``; returns what each has, by name."""
        with self.changed:
            self.changed.wait_for(
                lambda: (self.gather.acknowledged or 0) >= version or self._error or self._closed, timeout
            )
            return {name: member.applied_version for name, member in self.gather.members.items()}

    def close(self, timeout: float | None) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()
        self._transport.wake()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _raise_if_over(self) -> None:
        if self._error:
            raise self._error
        if self._closed:
            raise CollectorClosed("the collector was shut down")

    # ---------------------------------------------------------------- the thread
    def _run(self) -> None:
        try:
            while not self._closed and self._error is None:
                self._turn()
        except Exception as error:
            log.exception("the gather thread failed")
            self._abort(error)
        finally:
            self._transport.close()

    def _turn(self) -> None:
        self._publish()
        with self.changed:
            now = self._clock()
            self._start_and_drain(now)
            self._submit(now)
            self._hand_over(now)
            self._submit(now)
        events = self._transport.wait(_LONGEST_WAIT_SECONDS)
        with self.changed:
            now = self._clock()
            for event in events:
                self._accept(event, now)
            self._check_deadlines(now)
            self._check_available(now)

    def _publish(self) -> None:
        with self.changed:
            snapshot = self._snapshot
            if snapshot is None or not self._may_advance():
                return
            self._snapshot = None
            version = self.gather.version + 1
        started = self._clock()
        weights = self._transport.put(version, snapshot)
        with self.changed:
            self.gather.version = version
            self.gather.advanced = True
            self.store.published(weights, datetime.now(UTC), self._clock() - started)
            log.info("published version %d (%d bytes, %s)", version, weights.size_bytes, weights.digest[:19])
            for member in self.gather.members.values():
                if member.life is not Life.STARTING:
                    self._offer(member)
            self._note_change()

    def _may_advance(self) -> bool:
        """With a bound, the version advances at most once for each batch handed out."""
        return self.gather.plan.bound is None or not self.gather.advanced

    def _offer(self, member: Member) -> None:
        weights = self.store.newest
        if weights is not None and member.offered_version < weights.version:
            member.offered_version = weights.version
            self._transport.offer(member.address, weights)

    def _start_and_drain(self, now: float) -> None:
        if self._has_weights and self.store.newest is None:
            return  # a collector without weights has nothing to do
        for index in range(self.desired):
            name = f"c{index}"
            gone = self.retired.get(name)
            if name in self.gather.members or (gone and (gone.restart_at is None or gone.restart_at > now)):
                continue
            if self.retired.pop(name, None):
                self.restarts[name] = self.restarts.get(name, 0) + 1
            self._serial += 1
            address = Address(name, self._serial)
            self.gather.starting(address, now)
            self._transport.start(address)
        for name, member in list(self.gather.members.items()):
            member.draining = int(name[1:]) >= self.desired
            if member.draining and not member.in_flight:
                self._retire(member)
                log.info("%s drained", name)

    def _submit(self, now: float) -> None:
        for member, request in self.gather.submissions(now):
            self._transport.submit(member.address, request)
        self.statistics.throttled(self.gather.throttled, now)
        self.statistics.occupied(self.gather.available, self.gather.busy, now)

    def _hand_over(self, now: float) -> None:
        if not self.gather.asked or self._due is not None:
            return
        batch = self.gather.due()
        if batch is None:
            return
        frames = sum(share.frames for share in batch.shares)
        staleness = self.gather.handed_out(batch, frames)
        self.statistics.handed_out(frames, staleness, now)
        self._due = batch
        self._note_change(urgent=self.statistics.batches == 1 or self.gather.finished)

    # ---------------------------------------------------------------- what collectors say
    def _accept(self, event: Event, now: float) -> None:
        member = self.gather.member(event.address)
        if member is None:
            return  # of an incarnation that is retired
        match event:
            case Started(pod=pod, pid=pid):
                member.life, member.pod, member.pid = Life.JOINING, pod, pid
                if self._has_weights:
                    self._offer(member)
                else:
                    self._joined(member, 0)
            case Applied(version=version, digest=digest):
                if self.store.proven(version, digest):
                    self._joined(member, version)
                else:
                    self._weights_failed(member, version, now)
            case Finished(request_id=request_id, payload=payload, version=version, seconds=seconds):
                self._longest_request = max(self._longest_request, seconds)
                self.gather.answered(member, request_id, payload, version, now)
                self.statistics.collected(member.address.name, payload.frames)
            case Raised(where=where, cause=cause, traceback=text):
                self.last_error[member.address.name] = cause
                self._abort(UserCodeError(f"{where} (collector {member.address.name})", cause, text))
            case Lost(cause=cause, request_id=None):
                self._lost(member, cause, now)
            case Lost(cause=cause, request_id=int(request_id)):
                log.warning("%s: an answer is lost, asking again: %s", member.address.name, cause)
                self.gather.answer_lost(member, request_id, now)

    def _joined(self, member: Member, version: int) -> None:
        joined = member.life is not Life.READY
        if not joined and version <= (member.applied_version or 0):
            return  # the answer to an offer that a newer one overtook
        self.gather.applied(member, version)
        log.info("%s applied version %d", member.address.name, version)
        self.store.acknowledged(self.gather.acknowledged)
        self._note_change(urgent=joined)

    def _weights_failed(self, member: Member, version: int, now: float) -> None:
        cause = f"what it loaded as version {version} has another digest than what was published"
        failure = PublishFailure(member.address.name, version, datetime.now(UTC), "DigestMismatch", cause)
        self.store.failed(failure)
        self._lost(member, cause, now)

    def _lost(self, member: Member, cause: str, now: float) -> None:
        name = member.address.name
        self.last_error[name] = cause
        self.first_cause = self.first_cause or f"{name}: {cause}"
        self._retire(member)
        if int(name[1:]) >= self.desired:
            return
        decision = self._policy.decide(Loss(name, cause, self.restarts.get(name, 0)))
        restart_at = None if isinstance(decision, GiveUp) else now + decision.after.total_seconds()
        self.retired[name] = Retired(cause, restart_at)
        log.warning("%s retired: %s; %d of %d available", name, decision.reason, self.gather.available, self.desired)

    def _retire(self, member: Member) -> None:
        resent = self.gather.retired(member)
        if resent:
            log.info("%s: %d requests go to others", member.address.name, resent)
        self._transport.stop(member.address)
        self._note_change(urgent=True)

    # ---------------------------------------------------------------- time
    def _check_deadlines(self, now: float) -> None:
        for member in list(self.gather.members.values()):
            if member.working_since is None:
                continue
            floor = self._limits.request if member.answered else self._limits.first_request
            allowed = max(floor.total_seconds(), _DEADLINE_FACTOR * self._longest_request)
            if now - member.working_since > allowed:
                self._lost(member, f"no batch within {allowed:.0f} s", now)

    def _check_available(self, now: float) -> None:
        needed = min(self._min_available, self.desired)
        if self.gather.available >= needed:
            self._too_few_since = None
            return
        if self._too_few_since is None:
            self._too_few_since = now
        allowed = self._limits.available.total_seconds()
        lost_for_good = sum(gone.restart_at is None for gone in self.retired.values())
        if now - self._too_few_since > allowed or self.desired - lost_for_good < needed:
            cause = f"; first cause, {self.first_cause}" if self.first_cause else ""
            self._abort(
                TooFewCollectors(
                    f"only {self.gather.available} of {self.desired} collectors available for "
                    f"{now - self._too_few_since:.0f} s (minAvailable is {needed}){cause}"
                )
            )

    def _abort(self, error: Exception) -> None:
        with self.changed:
            self._error = self._error or error
            self._note_change(urgent=True)

    def _note_change(self, *, urgent: bool = False) -> None:
        self.changes += urgent
        self.changed.notify_all()
