"""A collector fetches what it was told of, once, and nothing that was replaced."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest
from tests.wait import eventually

from collectorfleet.actor.inbox import Offer
from collectorfleet.codec.snapshot import EMPTY_SNAPSHOT, Snapshot
from collectorfleet.transport.processes.control import Offered
from collectorfleet.transport.rpc.fetcher import Fetcher


class End(Exception):
    pass


class Fetching:
    """``release`` lets one fetch go on."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.offers: list[tuple[str, int]] = []
        self.gone: set[int] = set()
        self._releases: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.fetcher = Fetcher(self._fetch, self._offer)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def release(self, count: int = 1) -> None:
        for _ in range(count):
            self._releases.put(True)

    def end(self) -> None:
        self._releases.put(False)
        self.fetcher.offered(Offered("other", 99, 99, None))
        self._thread.join()

    def _serve(self) -> None:
        try:
            self.fetcher.serve()
        except End:
            return

    def _fetch(self, parcel: int) -> Snapshot | None:
        self.asked.append(parcel)
        if not self._releases.get(timeout=30):
            raise End
        return None if parcel in self.gone else EMPTY_SNAPSHOT

    def _offer(self, policy: str, offer: Offer) -> None:
        self.offers.append((policy, offer.version))


@pytest.fixture
def fetching() -> Iterator[Fetching]:
    made = Fetching()
    yield made
    made.end()


def test_what_is_offered_meanwhile_replaces_what_waits(fetching: Fetching) -> None:
    fetching.fetcher.offered(Offered("policy", 1, 1, None))
    eventually(lambda: fetching.asked == [1], within=10)
    for version in (2, 3, 4):
        fetching.fetcher.offered(Offered("policy", version, version, None))
    fetching.release(2)
    fetching.fetcher.settle()
    assert fetching.asked == [1, 4]
    assert fetching.offers == [("policy", 1), ("policy", 4)]


def test_what_a_request_names_is_fetched_whatever_is_offered_and_once(fetching: Fetching) -> None:
    fetching.release(3)
    one = fetching.fetcher.wanted(Offered("policy", 1, 7, 8))
    two = fetching.fetcher.wanted(Offered("policy", 2, 9, 8))
    assert (one.result(10).version, two.result(10).version) == (1, 2)
    fetching.fetcher.settle()
    assert fetching.asked == [7, 8, 9]
    assert fetching.offers == []


def test_weights_that_nobody_is_offered_any_more_are_passed_over(fetching: Fetching) -> None:
    fetching.gone.add(1)
    fetching.release(2)
    fetching.fetcher.offered(Offered("policy", 1, 1, None))
    fetching.fetcher.settle()
    fetching.fetcher.offered(Offered("policy", 2, 2, None))
    fetching.fetcher.settle()
    assert fetching.offers == [("policy", 2)]
