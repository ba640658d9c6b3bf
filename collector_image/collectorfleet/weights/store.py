"""Who has which version of the weights.

The life of a version: *published* (a snapshot was taken and put), *applied* by a collector, and *acknowledged* once
every available collector has applied it or a newer one. A collector proves what it loaded by the digest of it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from collectorfleet.transport.base import Weights

# Digests of versions that a late acknowledgement may still be about.
_KEPT_DIGESTS = 256


@dataclass(frozen=True)
class PublishFailure:
    collector: str
    version: int
    time: datetime
    reason: str
    message: str


class WeightsStore:
    def __init__(self) -> None:
        self.newest: Weights | None = None
        self.published_at: datetime | None = None
        self.publish_seconds: float | None = None
        self.attempted = 0
        self.succeeded = 0
        self.partial = 0
        self.last_failure: PublishFailure | None = None
        self._digests: OrderedDict[int, str] = OrderedDict()
        self._unacknowledged: set[int] = set()

    def published(self, weights: Weights, at: datetime, seconds: float) -> None:
        self.newest, self.published_at, self.publish_seconds = weights, at, seconds
        self.attempted += 1
        self._digests[weights.version] = weights.digest
        self._unacknowledged.add(weights.version)
        while len(self._digests) > _KEPT_DIGESTS:
            self._digests.popitem(last=False)

    def proven(self, version: int, digest: str) -> bool:
        """Whether the digest that a collector computed is that of the version it says."""
        return self._digests.get(version) == digest

    def acknowledged(self, version: int | None) -> None:
        """Every available collector has applied ``version`` or newer."""
        if version is None:
            return
        done = {v for v in self._unacknowledged if v <= version}
        self._unacknowledged -= done
        self.succeeded += len(done)

    def failed(self, failure: PublishFailure) -> None:
        self.last_failure = failure
        if failure.version in self._unacknowledged:
            self._unacknowledged.discard(failure.version)
            self.partial += 1
