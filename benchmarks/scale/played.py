"""Measures the CPU time of the gather alone: with played collectors, one message per turn, no Ray, threads or data."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from collectorfleet.gather.consumer import Consumer
from collectorfleet.gather.loop import GatherLoop
from collectorfleet.gather.shared import Limits, Shared
from collectorfleet.gather.state.gather import Gather
from collectorfleet.gather.state.plan import Plan
from collectorfleet.messages import Answer, Applied, CollectorId, Message, Request, Started, Stored, Weights
from collectorfleet.recovery.failure import ReplaceWithBackoff
from collectorfleet.scaling import EmptyWholePods

FRAMES = 10
_LONG = timedelta(days=1)
_DIGEST = "xxh3:0"


class Played:
    """A transport without collectors. The benchmark appends their messages to ``says``."""

    name = "Played"

    def __init__(self) -> None:
        self.started: list[CollectorId] = []
        self.requests: deque[tuple[CollectorId, Request]] = deque()
        self.offers: dict[CollectorId, int] = {}
        self.offered = 0
        self.says: list[Message] = []
        self._hashed: Future[str] = Future()
        self._hashed.set_result(_DIGEST)

    def start(self, collector: CollectorId) -> None:
        self.started.append(collector)

    def put(self, snapshot: Any) -> Stored:
        return Stored(self._hashed, 0, snapshot)

    def offer(self, collector: CollectorId, weights: Weights) -> None:
        self.offers[collector] = weights.version
        self.offered += 1

    def submit(self, collector: CollectorId, request: Request, weights: Weights | None = None) -> None:
        self.requests.append((collector, request))
        if weights is not None:
            self.offers[collector] = weights.version

    def cut_short(self, collector: CollectorId, request_id: int) -> None: ...

    def stop(self, collector: CollectorId) -> None: ...

    def wait(self, timeout: float) -> Sequence[Message]:
        del timeout
        said, self.says = self.says, []
        return said

    def wake(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class Spent:
    """The CPU seconds of a number of events."""

    seconds: float = 0.0
    events: int = 0

    @property
    def microseconds(self) -> float:
        return self.seconds / max(1, self.events) * 1e6


class Fleet:
    """A gather whose driver and collectors are this thread. ``spent`` has the CPU time by kind of event."""

    def __init__(self, collectors: int, plan: Plan, *, publishes: bool) -> None:
        self.played = Played()
        self.shared = Shared(Gather(plan), collectors, Limits(_LONG, _LONG, _LONG, 1), has_weights=True)
        self.consumer = Consumer(self.shared, self.played, EmptyWholePods())
        self.loop = GatherLoop(self.shared, self.played, ReplaceWithBackoff())
        self.publishes = publishes
        self.spent: dict[str, Spent] = {}
        self.consumer.stage(None)
        self.loop.turn()
        for collector in self.played.started:
            self.played.says.append(Started(collector, "pod", 1))
        self.loop.turn()
        self.acknowledge(len(self.played.offers))
        self.spent.clear()

    def timed(self, what: str, work: Callable[[], object], events: int = 1) -> None:
        """Run ``work`` and add its CPU time and ``events`` to the kind ``what``."""
        began = time.process_time()
        work()
        spent = self.spent.setdefault(what, Spent())
        spent.seconds += time.process_time() - began
        spent.events += events

    def acknowledge(self, most: int) -> None:
        """Let at most ``most`` collectors acknowledge the weights that they were offered, one per turn."""
        for collector in list(self.played.offers)[:most]:
            self.played.says.append(Applied(collector, self.played.offers.pop(collector), _DIGEST))
            self.timed("acknowledgement", self.loop.turn)

    def answer(self) -> None:
        """Answer the oldest request, in its own turn."""
        collector, request = self.played.requests.popleft()
        version = max(request.min_version, 1)
        self.played.says.append(Answer(collector, request.id, None, FRAMES, version, 1.0))
        self.timed("answer", self.loop.turn)

    def sync_batch(self) -> None:
        if self.publishes:
            self.timed("publish", lambda: self.consumer.stage(None))
        with self.shared.changed:
            self.consumer.request_batch()
        shares = self.shared.gather.plan.shares
        self.timed("requests", self.loop.turn, shares)
        while not self.shared.due:
            if self.played.requests:
                self.answer()
            else:
                self.timed("requests", self.loop.turn)
        with self.shared.changed:
            self.consumer.take_batch()
        self.acknowledge(shares)

    def async_batch(self) -> None:
        if self.publishes:
            self.timed("publish", lambda: self.consumer.stage(None))
        with self.shared.changed:
            self.consumer.request_batch()
        while not self.shared.due:
            if self.played.requests:
                self.answer()
            else:
                self.timed("answer", self.loop.turn, 0)
        with self.shared.changed:
            self.consumer.take_batch()
        self.acknowledge(1)


def sync(collectors: int, bound: int, batches: int, *, publishes: bool) -> dict[str, float]:
    """Return the CPU microseconds of a Sync batch per share, and of one acknowledgement."""
    fleet = Fleet(
        collectors, Plan(collectors, FRAMES, in_order=True, bound=bound, total_frames=None), publishes=publishes
    )
    return _measured(fleet, fleet.sync_batch, batches, batches * collectors)


def asynchronous(collectors: int, bound: int | None, batches: int, *, publishes: bool) -> dict[str, float]:
    """Return the CPU microseconds of an Async batch and of one acknowledgement.

    The work of a batch is one answer, one request and the delivery.
    """
    fleet = Fleet(collectors, Plan(1, FRAMES, in_order=False, bound=bound, total_frames=None), publishes=publishes)
    return _measured(fleet, fleet.async_batch, batches, batches)


def _measured(fleet: Fleet, batch: Callable[[], None], batches: int, shares: int) -> dict[str, float]:
    for _ in range(max(2, batches // 10)):
        batch()
    fleet.spent.clear()
    for _ in range(batches):
        batch()
    work = sum(spent.seconds for what, spent in fleet.spent.items() if what != "acknowledgement")
    found = {"share": work / shares * 1e6}
    if "acknowledgement" in fleet.spent:
        found["acknowledgement"] = fleet.spent["acknowledgement"].microseconds
    return found
