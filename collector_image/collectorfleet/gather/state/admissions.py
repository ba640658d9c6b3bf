"""What was admitted and is not handed out yet: admissions, made of shares.

The life of an admission: *admitted* (bounds and totals allow it), its shares *submitted* to collectors, *complete* when
the last share is answered, *handed out*. In order, an admission is a batch. Otherwise it is one share, and a batch is
the oldest complete admissions. A share whose collector is lost goes back to the front of the line.

Every number here is kept as things happen, none is counted anew: a question costs the same however large the fleet is.
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
    """One part of a batch; ``payload`` once it is answered."""

    admission: Admission
    frames: int  # asked for; then those that came
    random: bool
    request_id: int | None = None
    holder: CollectorId | None = None  # whom it was asked of last
    slot: int = 0  # the holder's
    payload: Any = None
    version: int | None = None
    size_bytes: int = 0
    cut_short: bool = False

    @property
    def done(self) -> bool:
        return self.version is not None


@dataclass(eq=False, slots=True)
class Admission:
    """What was admitted together, the ``number``-th of all. ``oldest_version`` is the oldest that it has or may get.

    For the bound it ``counts_as`` no older than it was requested. A collector may have older frames of a trajectory
    that began with earlier weights. They arrive even if nothing else is published for a long time.
    """

    number: int
    version: int  # published when it was admitted
    oldest_version: int
    counts_as: int
    shares: list[Share] = field(default_factory=list)
    missing: int = 0
    asked_anew: bool = False  # shares of it were asked for since somebody looked
    holders: set[CollectorId] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class Batch:
    """What is handed out."""

    shares: list[Share]
    staleness: int  # versions

    @property
    def frames(self) -> int:
        return sum(share.frames for share in self.shares)


class Admissions:
    """All that is under way or waits, in the order of its admission.

    ``together`` of them make a batch, which is ``bound`` versions old at most; None: as old as it may be.
    """

    def __init__(self, together: int, bound: int | None) -> None:
        self.line: deque[Share] = deque()  # to be asked for, the first first
        self.window = Window(together, bound)
        self.frames = 0  # of all shares: asked for, or answered
        self.frames_waiting = 0  # answered and not handed out
        self.waiting_bytes = 0
        self.shares_missing = 0
        self.next_number = 0
        self._all: dict[int, Admission] = {}
        self._incomplete: dict[int, Admission] = {}
        self._complete: list[tuple[int, int]] = []  # (what it counts as, number): whose time runs out comes first

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Admission]:
        return iter(self._all.values())

    @property
    def first(self) -> Admission | None:
        """The one that was admitted first."""
        return next(iter(self._all.values()), None)

    @property
    def first_incomplete(self) -> Admission | None:
        """Versions only grow, so that it has the oldest version of all that are incomplete."""
        return next(iter(self._incomplete.values()), None)

    @property
    def completed(self) -> int:
        """How many wait to be handed out."""
        return len(self._complete)

    def oldest_complete(self, count: int) -> list[Admission]:
        return [self._all[number] for _, number in islice(self._complete, count)]

    # ---------------------------------------------------------------- what happens to them
    def admit(self, version: int, frames_per_share: int, random: Sequence[bool]) -> None:
        """Take a new one, with a share for each of ``random``; they go to the end of the line."""
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
        """The first of the line is asked of a collector."""
        share.request_id, share.holder, share.slot = request_id, holder, slot
        share.admission.holders.add(holder)
        share.admission.asked_anew = True

    def taken_back(self, share: Share) -> None:
        """Nobody will answer it: it is the next to be asked for."""
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
            # Until now it might have got shares as old as its admission.
            made.oldest_version = min(one.version or 0 for one in made.shares)
            self._count(made, max(made.version, made.oldest_version))
            del self._incomplete[made.number]
            insort(self._complete, (made.counts_as, made.number))
        else:
            made.oldest_version = min(made.oldest_version, answer.version)

    def hand_out(self, chosen: list[Admission], current_version: int) -> Batch:
        """These are the consumer's now."""
        staleness = current_version - min(one.oldest_version for one in chosen)
        for one in chosen:
            del self._all[one.number]
            del self._complete[bisect_left(self._complete, (one.counts_as, one.number))]
            self.window.remove(one.counts_as)
        # In the order of the collectors, as users of RayCollector expect; which of them took which share is chance.
        shares = sorted((share for one in chosen for share in one.shares), key=lambda share: share.slot)
        for one in chosen:
            # A share knows its admission: in a circle, 54 MB of rollout would wait for the garbage collector.
            one.shares.clear()
        batch = Batch(shares, staleness)
        self.frames -= batch.frames
        self.frames_waiting -= batch.frames
        for share in shares:
            self.waiting_bytes -= share.size_bytes
        return batch

    def _count(self, one: Admission, version: int) -> None:
        if version != one.counts_as:
            self.window.remove(one.counts_as)
            self.window.add(version)
            one.counts_as = version
