"""The gather thread: the only one that talks to the transport, so that collectors go on while the consumer trains.

Read :meth:`GatherLoop.turn`: publish, start, submit, hand over, wait for anything, accept or fail.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from collectorfleet.errors import TooFewCollectors, UserCodeError
from collectorfleet.gather.consumer import ConsumerSide
from collectorfleet.gather.state.pieces import Life, Member
from collectorfleet.gather.state.versions import PublishFailure
from collectorfleet.messages import Address, Applied, Event, Fault, Finished, Lost, Raised, Started, Weights

log = logging.getLogger("collectorfleet")

# Deadlines and pauses are looked at this often; everything else wakes the thread by itself.
_LONGEST_WAIT_SECONDS = 0.25


class GatherLoop(ConsumerSide):
    """The other side of :class:`ConsumerSide`: one thread that owns the transport."""

    def _run(self) -> None:
        try:
            while not self._closed and self._error is None:
                self.turn()
        except Exception as error:
            log.exception("the gather thread failed")
            self._abort(error)
        finally:
            self._transport.close()

    def turn(self) -> None:
        """Do what there is to do, then wait for something to happen and note it."""
        self._publish()
        with self.changed:
            now = self._clock()
            # Not before what was published together with it: the bound reckons that an ask comes after a publish.
            if self._asked and not (self._publication and self.gather.may_advance()):
                self.gather.asked, self._asked = True, False
            self._start_and_drain(now)
            self._submit(now)
            if self._hand_over(now):
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
            publication = self._publication
            if publication is None or publication.stored is None or not self.gather.may_advance():
                return
            stored, version = publication.stored, self.gather.version + 1
            self._publication = publication.stored = None
            publication.version = self.gather.version = version
            self.store.published(Weights(version, stored), datetime.now(UTC), publication.seconds)
            self.store.release_before(self.gather.oldest_needed)
            log.info("published version %d (%d bytes, %s)", version, stored.size_bytes, stored.digest[:19])
            for member in self.gather.members.values():
                if member.life is not Life.STARTING:
                    self._offer(member)
            self._note_change()

    def _offer(self, member: Member) -> None:
        weights = self.store.newest
        if weights is not None and member.offered_version < weights.version:
            member.offered_version = weights.version
            self._transport.offer(member.address, weights)

    def _start_and_drain(self, now: float) -> None:
        if self._has_weights and self.store.newest is None:
            return  # a collector without weights has nothing to do
        members = self.gather.members
        for seat in self.roster.to_start(members, now):
            self.roster.started(seat)
            self._serial += 1
            address = Address(seat.name, self._serial)
            self.gather.starting(address, now)
            self._transport.start(address)
        for seat in [seat for seat in self.roster.seats.values() if seat.leaving or seat.name in members]:
            member = members.get(seat.name)
            if member is not None:
                member.draining = seat.leaving
            if seat.leaving and (member is None or not member.in_flight):
                self._leave(seat.name, member)

    def _leave(self, name: str, member: Member | None) -> None:
        self.roster.left(name)
        if member is None:
            return
        self._retire(member)
        log.info("%s drained", name)
        if member.pod is not None and all(other.pod != member.pod for other in self.gather.members.values()):
            self.drained_pods[member.pod] = None
            log.info("pod %s holds no collector any more", member.pod)

    def _submit(self, now: float) -> None:
        for member, request in self.gather.submissions(now):
            weights = None if request.version is None or not self._has_weights else self.store.version(request.version)
            self._transport.submit(member.address, request, weights)
        for member, request_id in self.gather.stragglers():
            self._transport.cut_short(member.address, request_id)
        self.statistics.throttled(self.gather.throttled, now)
        self.statistics.occupied(self.gather.available, self.gather.busy, now)

    def _hand_over(self, now: float) -> bool:
        pieces = self.gather.due() if self.gather.asked and self._due is None else None
        if pieces is None:
            return False
        self._due = self.gather.hand_out(pieces)
        self.statistics.handed_out(self._due.frames, self._due.staleness, now)
        self._note_change(urgent=self.statistics.batches == 1 or self.gather.finished)
        return True

    # ---------------------------------------------------------------- what collectors say
    def _accept(self, event: Event, now: float) -> None:
        member = self.gather.member(event.address)
        if member is None:
            return  # of an incarnation that is retired
        seat = self.roster.seats[member.address.name]
        match event:
            case Started(pod=pod, pid=pid):
                member.life, member.pod, member.pid = Life.JOINING, pod, pid
                self.drained_pods.pop(pod, None)
                if self._has_weights:
                    self._offer(member)
                    self._note_change()
                else:
                    self._joined(member, 0, now)
            case Applied(version=version, digest=digest):
                if self.store.proven(version, digest):
                    self._joined(member, version, now)
                else:
                    cause = f"what it loaded as version {version} has another digest than what was published"
                    self._weights_failed(member, version, cause, now)
            case Finished():
                self._deadline.took(event.seconds)
                self.gather.answered(member, event, now)
                self.statistics.collected(event.frames, event.pickled)
                seat.batches += 1
                seat.frames += event.frames
                if self.gather.paused:
                    self._note_change()
            case Raised(where=where, cause=cause, traceback=text):
                seat.last_error = cause
                self._abort(UserCodeError(f"{where} (collector {member.address.name})", cause, text))
            case Lost(cause=cause, fault=fault, request_id=None):
                self._lost(member, cause, fault, now)
            case Lost(cause=cause, request_id=int(request_id)):
                log.warning("%s: an answer is lost, asking again: %s", member.address.name, cause)
                self.gather.answer_lost(member, request_id, now)

    def _joined(self, member: Member, version: int, now: float) -> None:
        joined = member.life is not Life.READY
        if not joined and version <= (member.applied_version or 0):
            return  # the answer to an offer that a newer one overtook
        self.gather.applied(member, version, now)
        log.info("%s applied version %d", member.address.name, version)
        self.store.acknowledged(self.gather.acknowledged)
        self._note_change(urgent=joined)

    def _weights_failed(self, member: Member, version: int, cause: str, now: float) -> None:
        failure = PublishFailure(member.address.name, version, datetime.now(UTC), Fault.WEIGHTS, cause)
        others = [m for m in self.gather.members.values() if m is not member and m.life is Life.READY]
        self.store.failed(failure, by_all=not others)
        self._lost(member, cause, Fault.WEIGHTS, now)

    def _lost(self, member: Member, cause: str, fault: Fault, now: float) -> None:
        name = member.address.name
        self._retire(member)
        reason = self.roster.lost(name, cause, fault, self._policies.failure, now)
        log.warning(
            "%s retired (%s): %s; %d of %d available", name, fault, reason, self.gather.available, self.roster.desired
        )

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
            allowed = self._deadline.allowed(first=not member.answered)
            if now - member.working_since > allowed:
                self._lost(member, f"no batch within {allowed:.0f} s", Fault.HUNG, now)

    def _check_available(self, now: float) -> None:
        needed = min(self._limits.min_available, self.roster.desired)
        if self.gather.available >= needed:
            self._too_few_since = None
            return
        if self._too_few_since is None:
            self._too_few_since = now
        too_long = now - self._too_few_since > self._limits.available.total_seconds()
        if too_long or self.roster.desired - self.roster.lost_for_good < needed:
            cause = f"; first cause, {self.roster.first_cause}" if self.roster.first_cause else ""
            state = f"available for {now - self._too_few_since:.0f} s" if too_long else "left"
            self._abort(
                TooFewCollectors(
                    f"only {self.gather.available} of {self.roster.desired} collectors {state} "
                    f"(minAvailable is {needed}){cause}"
                )
            )
