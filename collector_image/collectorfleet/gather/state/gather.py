"""The state of a gather: collectors, requests, batches, and what to do next. No Ray, no torch, no clock.

The life of a piece: *admitted* (the bounds and ``total_frames`` allow it), its shares *submitted* to collectors,
*complete* when the last share is answered, *handed out*. In order, a piece is a batch; else it is one share, and the
batch is the oldest pieces that are complete. A share whose collector is lost goes back to the front of the line. The
life of a collector: *starting*, *joining* (built, but without acknowledged weights), *ready*, and *retired*, after
which nothing that it says is heard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from collectorfleet.gather.state.pieces import Batch, Life, Member, Piece, Share
from collectorfleet.gather.state.plan import DEPTH, Plan
from collectorfleet.gather.state.staleness import in_time
from collectorfleet.messages import Address, Finished, Request

# So long the first collectors of a fleet leave their share to those that are still starting.
START_TOGETHER_SECONDS = 10.0


class Gather:
    """All of it. Methods named for what happened change the state; the others only look."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.members: dict[str, Member] = {}
        self.pieces: list[Piece] = []
        self.version = 0
        self.asked = False  # the consumer waits for a batch
        self.paused = False
        self.begun = False  # a batch was asked for: nothing is collected before
        self.throttled = False
        self.frames_handed_out = 0
        self._random_frames = 0
        self._first_ready_at: float | None = None
        self._largest_share_bytes = 0
        self._requests: dict[int, tuple[Piece, Share]] = {}
        self._line: deque[tuple[Piece, Share]] = deque()
        self._next_request = 0

    def restored(self, frames: int, version: int) -> None:
        """Go on where an earlier gather was; its first frames were the random ones."""
        self.frames_handed_out = self._random_frames = frames
        self.version = max(self.version, version)

    # ---------------------------------------------------------------- collectors
    def starting(self, address: Address, now: float) -> None:
        self.members[address.name] = Member(address, now)

    def member(self, address: Address) -> Member | None:
        """The living collector of that name, if it is this incarnation of it."""
        found = self.members.get(address.name)
        return found if found and found.address == address else None

    def applied(self, member: Member, version: int, now: float) -> None:
        if self._first_ready_at is None:
            self._first_ready_at = now
        member.applied_version = version
        member.life = Life.READY

    def retired(self, member: Member) -> int:
        """Forget a collector; its requests go back to the front of the line. Returns how many."""
        del self.members[member.address.name]
        shares = [self._requests.pop(request) for request in member.in_flight]
        for piece, share in reversed(shares):
            share.request_id, share.cut_short = None, False
            self._line.appendleft((piece, share))
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

    @property
    def oldest_needed(self) -> int:
        """The oldest version that a request may still ask for."""
        if not self.plan.exact:
            return self.version
        return min((p.admitted_version for p in self.pieces if not p.complete), default=self.version)

    def may_advance(self) -> bool:
        """Whether everything under way is still handed out in time if the version advances now."""
        versions = [piece.oldest_version for piece in self.pieces]
        together = self.plan.admissions_per_batch
        return in_time(versions, self.version + 1, self.plan.bound, asked=True, together=together)

    # ---------------------------------------------------------------- requests
    def submissions(self, now: float) -> Iterator[tuple[Member, Request]]:
        """Every request that may be sent now; the state has them as sent. Idle collectors come first."""
        self.throttled = self.asked and self.due() is None and any(piece.complete for piece in self.pieces)
        while self.begun and not self.paused and self._free():
            if not (self._line or self._admit()):
                return
            piece, share = self._line[0]
            member = self._for_a_share_of(piece, now)
            if member is None:
                return
            self._line.popleft()
            exactly = piece.admitted_version if self.plan.exact else None
            request = Request(
                self._next_request, share.frames, self.version if exactly is None else exactly, exactly, share.random
            )
            self._next_request += 1
            share.request_id, share.holder = request.id, member.address
            self._requests[request.id] = (piece, share)
            if not member.in_flight:
                member.working_since = now
            member.in_flight.append(request.id)
            yield member, request

    def _free(self) -> list[Member]:
        return [
            m for m in self.members.values() if m.life is Life.READY and not m.draining and len(m.in_flight) < DEPTH
        ]

    def _for_a_share_of(self, piece: Piece, now: float) -> Member | None:
        """Who takes the next share: the least busy one, if possible one that has no share of this batch yet."""
        holders = {share.holder for share in piece.shares}
        free = sorted(self._free(), key=lambda m: (m.address in holders, len(m.in_flight)))
        if free[0].address in holders and any(self._is_coming(m, now) for m in self.members.values()):
            return None
        return free[0]

    def _is_coming(self, member: Member, now: float) -> bool:
        """Whether a collector is about to be available: a fleet starts together, a replacement is not waited for."""
        if member.life is Life.STARTING:
            first = self._first_ready_at
            return first is not None and member.started_at <= first and now - first < START_TOGETHER_SECONDS
        return member.life is Life.JOINING

    def stragglers(self) -> Iterator[tuple[Member, int]]:
        """Requests that are to be cut short now; each once."""
        after = self.plan.cut_short_after
        if after is None or not self.pieces:
            return
        first = self.pieces[0]
        if sum(share.done for share in first.shares) < after:
            return
        late = {share.request_id: share for share in first.shares if not share.done and not share.cut_short}
        for member in self.members.values():
            for request_id in member.in_flight:
                if request_id in late:
                    late[request_id].cut_short = True
                    yield member, request_id

    def answered(self, member: Member, answer: Finished, now: float) -> None:
        _, share = self._requests.pop(answer.request_id)
        share.payload, share.version = answer.payload, answer.version
        share.frames, share.size_bytes = answer.frames, answer.size_bytes
        self._largest_share_bytes = max(self._largest_share_bytes, answer.size_bytes)
        member.answered += 1
        self._leave(member, answer.request_id, now)

    def answer_lost(self, member: Member, request_id: int, now: float) -> None:
        """A finished rollout that cannot be read: its share is asked for again."""
        piece, share = self._requests.pop(request_id)
        share.request_id, share.cut_short = None, False
        self._line.appendleft((piece, share))
        self._leave(member, request_id, now)

    def _leave(self, member: Member, request_id: int, now: float) -> None:
        member.in_flight.remove(request_id)
        member.working_since = now if member.in_flight else None

    def _admit(self) -> bool:
        plan = self.plan
        count = len(self.pieces)
        # What was begun is filled up, or the last batch would never be complete.
        if plan.total_frames is not None and not count % plan.admissions_per_batch:
            requested = self.frames_handed_out + sum(piece.frames for piece in self.pieces)
            if requested >= plan.total_frames:
                return False
        # Every collector has one to work on and one waiting, whether or not anybody takes what is finished.
        if not plan.in_order and count >= max(DEPTH * self.available, plan.shares):
            return False
        versions = [piece.oldest_version for piece in self.pieces]
        together = plan.admissions_per_batch
        if not in_time([*versions, self.version], self.version, plan.bound, asked=self.asked, together=together):
            self.throttled |= any(m.life is Life.READY and not m.in_flight for m in self.members.values())
            return False
        if count and not self._fits_the_store():
            return False
        self._add_piece()
        return True

    def _fits_the_store(self) -> bool:
        plan = self.plan
        if plan.store_bytes is None or len(self.pieces) < plan.admissions_per_batch:
            return True
        under_way = sum(s.size_bytes if s.done else self._largest_share_bytes for p in self.pieces for s in p.shares)
        return under_way + plan.shares_per_admission * self._largest_share_bytes <= plan.store_bytes

    def _add_piece(self) -> None:
        plan = self.plan
        piece = Piece(self.version, [])
        for _ in range(plan.shares_per_admission):
            random = self._random_frames < plan.random_frames
            self._random_frames += plan.frames_per_share if random else 0
            piece.shares.append(Share(plan.frames_per_share, random))
        self.pieces.append(piece)
        self._line.extend((piece, share) for share in piece.shares)

    # ---------------------------------------------------------------- batches
    def due(self) -> list[Piece] | None:
        """What makes the batch to hand out now, if there is one."""
        if self.plan.in_order:
            return self.pieces[:1] if self.pieces and self.pieces[0].complete else None
        complete = sorted((piece for piece in self.pieces if piece.complete), key=lambda piece: piece.oldest_version)
        oldest = complete[: self.plan.shares]
        if len(oldest) < self.plan.shares or not self._others_in_time(oldest):
            return None
        return None if self._everything_is_requested and self._older_ones_to_come(oldest) else oldest

    @property
    def _everything_is_requested(self) -> bool:
        total = self.plan.total_frames
        return total is not None and self.frames_handed_out + sum(piece.frames for piece in self.pieces) >= total

    def _older_ones_to_come(self, chosen: list[Piece]) -> bool:
        """At the end, waiting for a slow collector costs nothing, and the last batch is the newest as one expects."""
        newest = max(piece.oldest_version for piece in chosen)
        return any(piece.admitted_version < newest for piece in self.pieces if not piece.complete)

    def _others_in_time(self, chosen: list[Piece]) -> bool:
        others = [piece.oldest_version for piece in self.pieces if not any(piece is one for one in chosen)]
        together = self.plan.admissions_per_batch
        return in_time(others, self.version, self.plan.bound, asked=False, together=together)

    def hand_out(self, pieces: list[Piece]) -> Batch:
        """The consumer has it."""
        self.pieces = [piece for piece in self.pieces if not any(piece is one for one in pieces)]
        # In the order of the collectors, as users of RayCollector expect; which of them took which share is chance.
        shares = sorted((share for piece in pieces for share in piece.shares), key=_seat_of)
        batch = Batch(shares, self.version - min(piece.oldest_version for piece in pieces))
        self.frames_handed_out += batch.frames
        self.asked = False
        return batch

    @property
    def frames_waiting(self) -> int:
        """Frames that were answered and not handed out yet."""
        return sum(share.frames for piece in self.pieces for share in piece.shares if share.done)

    @property
    def finished(self) -> bool:
        return self.plan.total_frames is not None and self.frames_handed_out >= self.plan.total_frames


def _seat_of(share: Share) -> int:
    return int(share.holder.name[1:]) if share.holder else 0
