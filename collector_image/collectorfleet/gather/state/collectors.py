"""The living collectors: the state of each collector, and counts over all collectors.

A collector passes through four states: *starting*, *joining* (built, but without acknowledged weights), *ready*, and
*retired*. A retired collector is removed from :class:`Collectors`, and its messages are ignored. A draining collector
finishes its requests, and gets no new requests.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.lowest_version import LowestVersion
from collectorfleet.gather.state.plan import DEPTH
from collectorfleet.messages import CollectorId
from collectorfleet_api.v1alpha1 import CollectorState

# For this number of seconds, the first ready collectors of a fleet leave some shares to collectors that are still
# starting.
START_TOGETHER_SECONDS = 10.0

# The entry of a free collector in a heap: its ``newest_admission``, its slot, its ``turn``, and the collector itself.
_Place = tuple[int, int, int, Collector]


class Collectors:
    """All living collectors, by the name of the slot.

    The average time of an operation grows at most with the logarithm of the size of the fleet. The exceptions are the
    start of the fleet and an iteration over all collectors.
    """

    def __init__(self) -> None:
        self.available = 0
        self.busy = 0
        self._living: dict[str, Collector] = {}
        self._joining = 0
        self._starting_with_the_fleet = 0
        self._first_ready_at: float | None = None
        self._applied = LowestVersion()
        # The free collectors: for each number of open requests, a heap with the lowest ``newest_admission`` first.
        self._free: list[list[_Place]] = [[] for _ in range(DEPTH)]
        self._turns = 0
        # For each group: when each collector began its present request, the earliest first. The first requests of
        # collectors are in a separate queue. An outdated entry is dropped when it reaches the front of the queue.
        self._working: dict[str | None, tuple[deque[tuple[float, Collector]], ...]] = {}
        # When each collector began to build, or to load its first weights. An outdated entry is dropped when it reaches
        # the front of the queue.
        self._building: deque[tuple[float, Collector]] = deque()
        self._joined_at = 0.0  # when the latest collector was built
        # The built collectors, ordered by the time of their last offer, the earliest first.
        self._by_offer: OrderedDict[CollectorId, Collector] = OrderedDict()

    def __len__(self) -> int:
        return len(self._living)

    def __iter__(self) -> Iterator[Collector]:
        return iter(self._living.values())

    def __contains__(self, name: str) -> bool:
        return name in self._living

    def named(self, name: str) -> Collector | None:
        """Return the living collector in this slot, or None if the slot has no collector."""
        return self._living.get(name)

    def find(self, id_: CollectorId) -> Collector | None:
        """Return the living collector with this name and incarnation, or None if there is no such collector."""
        found = self._living.get(id_.name)
        return found if found is not None and found.id == id_ else None

    # ---------------------------------------------------------------- events
    def starting(self, id_: CollectorId, slot: int, now: float, group: str | None = None) -> None:
        with_the_fleet = self._first_ready_at is None or now <= self._first_ready_at
        self._living[id_.name] = Collector(id_, slot, now, group, starts_with_the_fleet=with_the_fleet)
        self._working.setdefault(group, (deque(), deque()))
        self._starting_with_the_fleet += with_the_fleet

    def placed(self, one: Collector, pod: str, node: str | None, now: float) -> None:
        """Record that the collector's process runs. The collector now begins to build, and its deadline starts."""
        one.node = node
        if one.state is CollectorState.STARTING:
            one.pod = pod
            self._begin_building(one, now)

    def built(self, one: Collector, pod: str, pid: int, now: float, loop: str | None = None) -> None:
        self._leaves_its_state(one)
        one.state, one.pod, one.pid, one.loop = CollectorState.JOINING, pod, pid, loop
        self._joining += 1
        self._joined_at = now
        self._begin_building(one, now)
        self._by_offer[one.id] = one
        self._by_offer.move_to_end(one.id, last=False)

    def offered(self, one: Collector, version: int) -> None:
        one.offered_version = version
        self._by_offer.move_to_end(one.id)

    def applied(self, one: Collector, version: int, now: float) -> None:
        """Record that the collector acknowledged a version. With its first version, the collector becomes ready."""
        if self._first_ready_at is None:
            self._first_ready_at = now
        self._applied.add(version)
        if one.state is CollectorState.READY:
            self._applied.remove(one.applied_version)
            one.applied_version = version
            return
        self._leaves_its_state(one)
        one.state, one.applied_version, one.building_since = CollectorState.READY, version, None
        self.available += 1
        self._queue(one)

    def note_request(self, one: Collector, request_id: int, admission: int, now: float) -> None:
        if not one.in_flight:
            self.busy += 1
            self._begin_work(one, now)
        one.in_flight.append(request_id)
        one.newest_admission = max(one.newest_admission, admission)
        self._queue(one)

    def answered(self, one: Collector, request_id: int, now: float, *, readable: bool = True) -> None:
        """Record that the request has ended. ``readable``: whether the answer can be read."""
        one.answered += readable
        one.in_flight.remove(request_id)
        if one.in_flight:
            self._begin_work(one, now)
        else:
            self.busy -= 1
            one.working_since = None
        self._queue(one)

    def drain(self, name: str, *, draining: bool) -> None:
        """If ``draining`` is true, send no new requests to the collector. Otherwise send requests again."""
        one = self._living.get(name)
        if one is not None and one.draining is not draining:
            one.draining = draining
            self._queue(one)

    def retired(self, one: Collector) -> None:
        del self._living[one.id.name]
        self._by_offer.pop(one.id, None)
        self._leaves_its_state(one)
        if one.state is CollectorState.READY:
            self.available -= 1
            self._applied.remove(one.applied_version)
        self.busy -= bool(one.in_flight)
        one.state, one.working_since, one.building_since, one.turn = CollectorState.RETIRED, None, None, 0

    # ---------------------------------------------------------------- queries
    @property
    def built_count(self) -> int:
        """The number of collectors that have built environment and policy.

        Some of them may not have acknowledged any weights yet.
        """
        return self.available + self._joining

    @property
    def acknowledged(self) -> int | None:
        """The lowest version that an available collector has applied, or None if no collector is available."""
        return self._applied.lowest

    def next_free(self, admission: int) -> Collector | None:
        """Return the collector for the next share of an admission, or None if no collector is free.

        Collectors without a share of this admission have priority over collectors with a share. The second criterion is
        the number of open requests: fewer requests have priority. The third criterion is the newest admission that a
        collector got a request for: an older admission has priority. The last criterion is the slot: the lowest slot
        has priority.
        """
        found = None
        for row in self._free:
            one = self._front(row)
            if one is not None and one.newest_admission < admission:
                return one
            found = found or one
        return found

    def is_collector_starting(self, now: float) -> bool:
        """Return whether other collectors should leave shares to a collector that will soon be available.

        When a fleet starts, its ready collectors leave shares to starting collectors for up to 10 seconds. Replacements
        of lost collectors do not count as starting collectors. A built collector that has not loaded its first weights
        counts as starting for at most 10 seconds.
        """
        if self._joining and now - self._joined_at < START_TOGETHER_SECONDS:
            return True
        first = self._first_ready_at
        return bool(self._starting_with_the_fleet) and first is not None and now - first < START_TOGETHER_SECONDS

    @property
    def groups(self) -> list[str | None]:
        """The groups that have had a collector so far."""
        return list(self._working)

    def longest_at_work(self, group: str | None, *, first: bool) -> Collector | None:
        """Return the collector of a group that has worked longest on its present request.

        If ``first`` is true, consider only collectors that work on their first request. Otherwise consider only
        the other collectors.
        """
        row = self._working[group][first] if group in self._working else deque()
        while row and row[0][1].working_since != row[0][0]:
            row.popleft()
        return row[0][1] if row else None

    def longest_building(self) -> Collector | None:
        """Return the collector that has been building, or loading its first weights, for the longest time.

        Return None if no collector builds or loads its first weights.
        """
        while self._building and self._building[0][1].building_since != self._building[0][0]:
            self._building.popleft()
        return self._building[0][1] if self._building else None

    def next_to_offer(self, version: int) -> Collector | None:
        """Return the collector to which ``version`` is offered next.

        Return None if this version was offered to all collectors. The collector that has worked longest on its present
        request has priority. If this version was already offered to that collector, the collector with the oldest offer
        has priority.
        """
        one = self._longest_of_all(first=False) or self._longest_of_all(first=True)
        if one is None or one.offered_version >= version:
            one = next(iter(self._by_offer.values()), None)
        return one if one is not None and one.offered_version < version else None

    def _longest_of_all(self, *, first: bool) -> Collector | None:
        found = (self.longest_at_work(group, first=first) for group in self._working)
        return min((one for one in found if one is not None), key=lambda one: one.working_since or 0.0, default=None)

    def _begin_building(self, one: Collector, now: float) -> None:
        one.building_since = now
        self._building.append((now, one))

    def _begin_work(self, one: Collector, now: float) -> None:
        one.working_since = now
        self._working[one.group][one.answered == 0].append((now, one))

    def _leaves_its_state(self, one: Collector) -> None:
        if one.state is CollectorState.STARTING:
            self._starting_with_the_fleet -= one.starts_with_the_fleet
        elif one.state is CollectorState.JOINING:
            self._joining -= 1

    def _queue(self, one: Collector) -> None:
        self._turns += 1
        one.turn = self._turns
        if one.is_free:
            row = self._free[len(one.in_flight)]
            heappush(row, (one.newest_admission, one.slot, one.turn, one))
            # Outdated entries are usually dropped at the front of a heap. But this heap is not read while less busy
            # collectors are free, so it could grow. So drop its outdated entries here.
            if len(row) > 2 * len(self._living) + 1:
                row[:] = [place for place in row if _is_taken(place)]
                heapify(row)

    def _front(self, row: list[_Place]) -> Collector | None:
        while row and not _is_taken(row[0]):
            heappop(row)
        return row[0][3] if row else None


def _is_taken(place: _Place) -> bool:
    return place[3].turn == place[2]
