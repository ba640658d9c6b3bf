"""Admissions that are not handed out yet.

A share is the part of a batch that one request asks for. Its answer has the frames. An admission is one or more shares
that are allowed together.

The life of an admission: *admitted* (bounds and totals allow it), its shares *submitted* to collectors, *complete* when
the last share is answered, *handed out*. If batches keep their order, an admission is a batch. Otherwise an admission
is one share, and a batch has the oldest complete admissions. If the collector of a share is lost, the share returns to
the front of the queue.

Each event updates all counts, so the cost of a query does not depend on the size of the fleet.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from collectorfleet.gather.state.staleness import Window
from collectorfleet.messages import Answer, CollectorId


@dataclass(eq=False, slots=True)
class Share:
    """One part of a batch. ``payload`` is set once the share is answered."""

    admission: Admission
    frames: int  # requested; after the answer, received
    random: bool
    request_id: int | None = None
    holder: CollectorId | None = None  # the collector of the last request
    slot: int = 0  # of the holder
    payload: Any = None
    version: int | None = None
    size_bytes: int = 0
    cut_short: bool = False

    @property
    def done(self) -> bool:
        return self.version is not None


@dataclass(eq=False, slots=True)
class Admission:
    """The shares that were admitted together. ``number`` counts admissions from 0.

    ``oldest_version`` is the oldest version that a frame has or may still get. For the staleness bound,
    ``version_for_bound`` is never older than the version at admission. A collector may deliver older frames, of a
    trajectory that began with earlier weights. Such frames arrive even if no further version is published for a long
    time.
    """

    number: int
    version: int  # the newest published version at admission
    oldest_version: int
    version_for_bound: int
    shares: list[Share] = field(default_factory=list)
    missing: int = 0
    has_new_requests: bool = False  # shares were requested since the last call of stragglers()
    holders: set[CollectorId] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class Batch:
    """The shares that are handed out together."""

    shares: list[Share]
    staleness: int  # versions

    @property
    def frames(self) -> int:
        return sum(share.frames for share in self.shares)


class Admissions:
    """All admissions that are open or wait, in the order of admission.

    ``together`` is the number of admissions in a batch. ``bound`` is the largest staleness of a batch, in versions.
    None means unbounded.
    """

    def __init__(self, together: int, bound: int | None) -> None:
        self.line: deque[Share] = deque()  # shares to request, in order
        self.window = Window(together, bound)
        self.frames = 0  # of all shares, requested or answered
        self.frames_waiting = 0  # answered, but not handed out
        self.waiting_bytes = 0
        self.shares_missing = 0
        self.next_number = 0
        self._all: dict[int, Admission] = {}
        self._incomplete: dict[int, Admission] = {}
        self._complete: list[tuple[int, int]] = []  # (version_for_bound, number), the oldest first

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Admission]:
        return iter(self._all.values())

    @property
    def first(self) -> Admission | None:
        """The oldest admission."""
        return next(iter(self._all.values()), None)

    @property
    def first_incomplete(self) -> Admission | None:
        """The oldest incomplete admission. Versions only increase, so it has the oldest incomplete version."""
        return next(iter(self._incomplete.values()), None)

    @property
    def completed(self) -> int:
        """The number of admissions that wait to be handed out."""
        return len(self._complete)

    def oldest_complete(self, count: int) -> list[Admission]:
        return [self._all[number] for _, number in islice(self._complete, count)]

    # ---------------------------------------------------------------- events
    def admit(self, version: int, frames_per_share: int, random: Sequence[bool]) -> None:
        """Add an admission with a share for each entry of ``random``. The shares join the end of the queue."""
        made = Admission(self.next_number, version, version, version)
        self.next_number += 1
        made.shares = [Share(made, frames_per_share, one) for one in random]
        made.missing = len(made.shares)
        self._all[made.number] = self._incomplete[made.number] = made
        self.line.extend(made.shares)
        self.window.add(version)
        self.frames += frames_per_share * made.missing
        self.shares_missing += made.missing

    def submitted(self, share: Share, request_id: int, holder: CollectorId, slot: int) -> None:
        """Record that the first share of the queue was requested from a collector."""
        share.request_id, share.holder, share.slot = request_id, holder, slot
        share.admission.holders.add(holder)
        share.admission.has_new_requests = True

    def taken_back(self, share: Share) -> None:
        """Put a share whose request is lost back at the front of the queue."""
        share.request_id, share.cut_short = None, False
        self.line.appendleft(share)

    def answered(self, share: Share, answer: Answer) -> None:
        made = share.admission
        self.frames += answer.frames - share.frames
        self.frames_waiting += answer.frames
        self.waiting_bytes += answer.size_bytes
        share.payload, share.version = answer.payload, answer.version
        share.frames, share.size_bytes = answer.frames, answer.size_bytes
        made.missing -= 1
        self.shares_missing -= 1
        if made.complete:
            # Before the last answer, a share could still have the version at admission.
            made.oldest_version = min(one.version or 0 for one in made.shares)
            self._count(made, max(made.version, made.oldest_version))
            del self._incomplete[made.number]
            insort(self._complete, (made.version_for_bound, made.number))
        else:
            made.oldest_version = min(made.oldest_version, answer.version)

    def hand_out(self, chosen: list[Admission], current_version: int) -> Batch:
        """Remove the chosen admissions, and return their shares as a batch."""
        staleness = current_version - min(one.oldest_version for one in chosen)
        for one in chosen:
            del self._all[one.number]
            del self._complete[bisect_left(self._complete, (one.version_for_bound, one.number))]
            self.window.remove(one.version_for_bound)
        # Sort shares by collector, as users of RayCollector expect. The order of the requests is arbitrary.
        shares = sorted((share for one in chosen for share in one.shares), key=lambda share: share.slot)
        for one in chosen:
            # A share refers to its admission. Without this reference cycle, the memory of the rollouts is free at once,
            # without a garbage collection.
            one.shares.clear()
        batch = Batch(shares, staleness)
        self.frames -= batch.frames
        self.frames_waiting -= batch.frames
        for share in shares:
            self.waiting_bytes -= share.size_bytes
        return batch

    def _count(self, one: Admission, version: int) -> None:
        if version != one.version_for_bound:
            self.window.remove(one.version_for_bound)
            self.window.add(version)
            one.version_for_bound = version
