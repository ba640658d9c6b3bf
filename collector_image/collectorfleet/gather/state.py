"""The state of a gather: collectors, requests, batches, and what to do next. No Ray, no torch, no clock.

The life of a batch: *admitted* (the staleness bound and ``total_frames`` allow it), its shares *submitted* to
collectors, *complete* when the last share is answered, *handed out*. A share whose collector is lost goes back to the
front of the line. The life of a collector: *starting*, *joining* (built, but without acknowledged weights), *ready*,
and *retired*, after which nothing that it says is heard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from collectorfleet.gather.staleness import in_time
from collectorfleet.transport.base import Address, Request

# A second request lets a collector go on while its answer travels.
DEPTH = 2


class Life(Enum):
    STARTING = auto()
    JOINING = auto()
    READY = auto()


@dataclass
class Member:
    """One living collector."""

    address: Address
    started_at: float
    life: Life = Life.STARTING
    pod: str | None = None
    pid: int | None = None
    applied_version: int | None = None
    offered_version: int = 0
    in_flight: deque[int] = field(default_factory=deque)
    working_since: float | None = None  # when the oldest request in flight began
    answered: int = 0
    draining: bool = False


@dataclass
class Share:
    """One part of a batch; ``payload`` once it is answered."""

    index: int
    request_id: int | None = None
    payload: Any = None
    version: int | None = None
    collector: Address | None = None

    @property
    def done(self) -> bool:
        return self.version is not None

    @property
    def frames(self) -> int:
        return int(self.payload.frames)


@dataclass
class Batch:
    number: int
    admitted_version: int
    shares: list[Share]

    @property
    def complete(self) -> bool:
        return all(share.done for share in self.shares)

    @property
    def oldest_version(self) -> int:
        """A share that is not answered yet will run with the version of its admission or a newer one."""
        known = [s.version if s.version is not None else self.admitted_version for s in self.shares]
        return min(known)


@dataclass(frozen=True)
class Plan:
    """What does not change during a gather. ``frames_per_share`` is what one request asks for."""

    shares: int
    frames_per_share: int
    in_order: bool  # Sync: batches are handed out as they were admitted
    bound: int | None
    total_frames: int | None

    @property
    def frames_per_batch(self) -> int:
        return self.shares * self.frames_per_share


class Gather:
    """All of it. Methods named for what happened change the state; the others only look."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.members: dict[str, Member] = {}
        self.batches: dict[int, Batch] = {}
        self.version = 0
        self.asked = False
        self.advanced = False  # since the last batch was handed out
        self.throttled = False
        self.frames_handed_out = 0
        self._requests: dict[int, tuple[Batch, Share]] = {}
        self._line: deque[tuple[Batch, Share]] = deque()
        self._next_batch = 0
        self._next_request = 0

    # ---------------------------------------------------------------- collectors
    def starting(self, address: Address, now: float) -> None:
        self.members[address.name] = Member(address, now)

    def member(self, address: Address) -> Member | None:
        """The living collector of that name, if it is this incarnation of it."""
        found = self.members.get(address.name)
        return found if found and found.address == address else None

    def applied(self, member: Member, version: int) -> None:
        member.applied_version = version
        member.life = Life.READY

    def retired(self, member: Member) -> int:
        """Forget a collector; its requests go back to the front of the line. Returns how many."""
        del self.members[member.address.name]
        shares = [self._requests.pop(request) for request in member.in_flight]
        for batch, share in reversed(shares):
            share.request_id = share.collector = None
            self._line.appendleft((batch, share))
        return len(shares)

    @property
    def available(self) -> int:
        return sum(member.life is Life.READY for member in self.members.values())

    @property
    def busy(self) -> int:
        return sum(bool(member.in_flight) for member in self.members.values())

    @property
    def acknowledged(self) -> int | None:
        """Lowest version applied by all available collectors; None while there is none."""
        versions = [m.applied_version for m in self.members.values() if m.life is Life.READY]
        known = [v for v in versions if v is not None]
        return min(known) if known and len(known) == len(versions) else None

    # ---------------------------------------------------------------- requests
    def submissions(self, now: float) -> Iterator[tuple[Member, Request]]:
        """Every request that may be sent now; the state has them as sent. Idle collectors come first."""
        self.throttled = self.asked and self.due() is None and any(b.complete for b in self.batches.values())
        while True:
            member = min(
                (
                    m
                    for m in self.members.values()
                    if m.life is Life.READY and not m.draining and len(m.in_flight) < DEPTH
                ),
                key=lambda m: len(m.in_flight),
                default=None,
            )
            if member is None or not (self._line or self._admit()):
                return
            batch, share = self._line.popleft()
            request = Request(self._next_request, self.plan.frames_per_share, self.version)
            self._next_request += 1
            share.request_id, share.collector = request.id, member.address
            self._requests[request.id] = (batch, share)
            if not member.in_flight:
                member.working_since = now
            member.in_flight.append(request.id)
            yield member, request

    def answered(self, member: Member, request_id: int, payload: Any, version: int, now: float) -> None:
        _, share = self._requests.pop(request_id)
        share.payload, share.version = payload, version
        member.answered += 1
        self._leave(member, request_id, now)

    def answer_lost(self, member: Member, request_id: int, now: float) -> None:
        """A finished rollout that cannot be read: its share is asked for again."""
        batch, share = self._requests.pop(request_id)
        share.request_id = share.collector = None
        self._line.appendleft((batch, share))
        self._leave(member, request_id, now)

    def _leave(self, member: Member, request_id: int, now: float) -> None:
        member.in_flight.remove(request_id)
        member.working_since = now if member.in_flight else None

    def _admit(self) -> bool:
        plan = self.plan
        requested = self.frames_handed_out + len(self.batches) * plan.frames_per_batch
        if plan.total_frames is not None and requested >= plan.total_frames:
            return False
        versions = [batch.oldest_version for batch in self.batches.values()]
        if not in_time([*versions, self.version], self.version, plan.bound, asked=self.asked):
            self.throttled |= any(m.life is Life.READY and not m.in_flight for m in self.members.values())
            return False
        batch = Batch(self._next_batch, self.version, [Share(i) for i in range(plan.shares)])
        self._next_batch += 1
        self.batches[batch.number] = batch
        self._line.extend((batch, share) for share in batch.shares)
        return True

    # ---------------------------------------------------------------- batches
    def due(self) -> Batch | None:
        """The batch to hand out now, if there is one."""
        if self.plan.in_order:
            first = next(iter(self.batches.values()), None)
            return first if first and first.complete else None
        complete = sorted((b for b in self.batches.values() if b.complete), key=lambda b: b.oldest_version)
        return next((batch for batch in complete if self._others_in_time(batch)), None)

    def _others_in_time(self, batch: Batch) -> bool:
        others = [other.oldest_version for other in self.batches.values() if other is not batch]
        return in_time(others, self.version, self.plan.bound, asked=False)

    def handed_out(self, batch: Batch, frames: int) -> int:
        """The consumer has it. Returns its staleness in versions."""
        del self.batches[batch.number]
        self.frames_handed_out += frames
        self.asked = self.advanced = False
        return self.version - batch.oldest_version

    @property
    def finished(self) -> bool:
        return self.plan.total_frames is not None and self.frames_handed_out >= self.plan.total_frames
