"""Fetches a collector's weights in the order of their offers, while rollouts continue."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from collectorfleet.actor.inbox import Offer
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.transport.processes.control import Offered

# The number of kept snapshots. The last two versions of weights and of normalizations are often requested again.
_KEPT: Final = 4


class Fetcher:
    """Fetches offered weights.

    ``fetch`` blocks until a snapshot arrives. ``fetch`` returns None if the driver no longer offers the snapshot. When
    all snapshots of an offer have arrived, ``offer`` is called with the policy and the offer. An error of ``fetch``
    ends :meth:`serve`.
    """

    def __init__(self, fetch: Callable[[int], Snapshot | None], offer: Callable[[str, Offer], None]) -> None:
        self._fetch = fetch
        self._offer = offer
        self._changed = threading.Condition()
        self._wanted: deque[tuple[Offered, Future[Offer]]] = deque()
        self._offered: dict[str, Offered] = {}
        self._busy = False
        self._kept: OrderedDict[int, Snapshot] = OrderedDict()

    def offered(self, offered: Offered) -> None:
        """Fetch the offered version, unless a newer offer replaces it first. Any thread may call this."""
        with self._changed:
            self._offered[offered.policy] = offered
            self._changed.notify_all()

    def wanted(self, offered: Offered) -> Future[Offer]:
        """Fetch the version, even if a newer offer follows. Any thread may call this."""
        awaited: Future[Offer] = Future()
        with self._changed:
            self._wanted.append((offered, awaited))
            self._changed.notify_all()
        return awaited

    def settle(self) -> None:
        """Block until all fetches are done."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._busy or self._wanted or self._offered))

    def serve(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._wanted or self._offered))
                self._busy = True
                found, awaited = self._next()
            offer = self._complete(found)
            if offer is None:
                continue  # a newer version replaced this version
            if awaited is None:
                self._offer(found.policy, offer)
            else:
                awaited.set_result(offer)

    def _next(self) -> tuple[Offered, Future[Offer] | None]:
        if self._wanted:
            return self._wanted.popleft()
        policy = next(iter(self._offered))
        return self._offered.pop(policy), None

    def _complete(self, offered: Offered) -> Offer | None:
        weights = self._get(offered.weights)
        if weights is None:
            return None
        if offered.normalization is None:
            return Offer(offered.version, weights, None)
        normalization = self._get(offered.normalization)
        return None if normalization is None else Offer(offered.version, weights, normalization)

    def _get(self, parcel: int) -> Snapshot | None:
        found = self._kept.pop(parcel, None) or self._fetch(parcel)
        if found is not None:
            self._kept[parcel] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found
