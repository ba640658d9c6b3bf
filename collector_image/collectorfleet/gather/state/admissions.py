"""Admissions that are not handed out yet.

A share is the part of a batch that one request covers. The answer to the request has the frames of the share. An
admission is one share, or several shares whose requests the gather allows at the same time.

An admission passes through four states. It is *admitted* if bounds and totals allow its shares. Its shares are then
*submitted* to collectors. It is *complete* when its last share is answered. Finally it is *handed out*. If batches are
handed out in order, an admission is a batch. Otherwise an admission is one share, and a batch consists of the oldest
complete admissions. If the collector of a share is lost, the share returns to the front of the queue.

Each event updates all counts. So the cost of a query does not depend on the size of the fleet.
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
    """One part of a batch. ``payload`` is None until the share is answered."""

    admission: Admission
    frames: int  # requested frames; after the answer, received frames
    random: bool
    request_id: int | None = None
    holder: CollectorId | None = None  # the collector that got the last request for this share
    slot: int = 0  # the slot of the holder
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

    ``oldest_version`` is the oldest weights version of the frames. While shares are missing, it is the oldest version
    that a frame may still get. ``version_for_bound`` is the version that counts for the staleness bound. It is never
    older than the version at admission. A collector may deliver frames with an older version, if their trajectory began
    with earlier weights. Delaying further versions would not prevent such frames.
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
    """All admissions that are not handed out yet, in the order of admission.

    ``together`` is the number of admissions in a batch. ``bound`` is the largest allowed staleness of a batch, in
    versions. None: there is no limit.
    """

    def __init__(self, together: int, bound: int | None) -> None:
        self.line: deque[Share] = deque()  # shares to request, in order
        self.window = Window(together, bound)
        self.frames = 0  # of all shares, answered or not
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
        """The oldest incomplete admission.

        No other incomplete admission has an older version, as versions only increase.
        """
        return next(iter(self._incomplete.values()), None)

    @property
    def completed(self) -> int:
        """The number of complete admissions that are not handed out yet."""
        return len(self._complete)

    def oldest_complete(self, count: int) -> list[Admission]:
        return [self._all[number] for _, number in islice(self._complete, count)]

    # ---------------------------------------------------------------- events
    def admit(self, version: int, frames_per_share: int, random: Sequence[bool]) -> None:
        """Add an admission with one share for each entry of ``random``.

        The shares are added to the end of the queue.
        """
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
        """Record that a request for ``share`` was sent to the collector ``holder``."""
        share.request_id, share.holder, share.slot = request_id, holder, slot
        share.admission.holders.add(holder)
        share.admission.has_new_requests = True

    def taken_back(self, share: Share) -> None:
        """Put a share back at the front of the queue, because its request was lost."""
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
            # All versions are known only after the last answer. Until then, a share could still get the version at
            # admission.
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
        # Sort the shares by collector, because users of RayCollector expect this order. The order of the requests is
        # arbitrary.
        shares = sorted((share for one in chosen for share in one.shares), key=lambda share: share.slot)
        for one in chosen:
            # A share refers to its admission, and the admission refers to its shares. Break this reference cycle, so
            # that the memory of the rollouts is freed without the garbage collector.
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
