"""Who has which version of the weights.

The life of a version: *published* (a snapshot was taken and put), *applied* by a collector, and *acknowledged* once
every available collector has applied it or a newer one. A collector proves what it loaded by the digest of it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from collectorfleet.messages import Weights

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
    """Handles of versions that may still be asked for, and the counts of publishes.

    Dropping a handle is what lets the object store forget that version.
    """

    def __init__(self) -> None:
        self.newest: Weights | None = None
        self.published_at: datetime | None = None
        self.publish_seconds: float | None = None
        self.attempted = 0
        self.succeeded = 0
        self.partial = 0
        self.failures = 0
        self.last_failure: PublishFailure | None = None
        self._kept: dict[int, Weights] = {}
        self._digests: OrderedDict[int, str] = OrderedDict()
        self._unacknowledged: dict[int, bool] = {}  # version: whether a collector failed to apply it

    def published(self, weights: Weights, at: datetime, seconds: float) -> None:
        self.newest, self.published_at, self.publish_seconds = weights, at, seconds
        self._kept[weights.version] = weights
        self.attempted += 1
        self._digests[weights.version] = weights.stored.digest
        self._unacknowledged[weights.version] = False
        while len(self._digests) > _KEPT_DIGESTS:
            self._digests.popitem(last=False)

    def version(self, version: int) -> Weights:
        """The weights of a version that was not released."""
        return self._kept[version]

    def release_before(self, version: int) -> None:
        """Nobody can ask for older ones than ``version`` any more."""
        for old in [v for v in self._kept if v < version]:
            if self.newest is None or old != self.newest.version:
                del self._kept[old]

    @property
    def kept_versions(self) -> list[int]:
        return sorted(self._kept)

    def proven(self, version: int, digest: str) -> bool:
        """Whether the digest that a collector computed is that of the version it says."""
        return self._digests.get(version) == digest

    def acknowledged(self, version: int | None) -> None:
        """Every available collector has applied ``version`` or newer."""
        if version is None:
            return
        for done in [v for v in self._unacknowledged if v <= version]:
            if self._unacknowledged.pop(done):
                self.partial += 1
            else:
                self.succeeded += 1

    def failed(self, failure: PublishFailure, *, by_all: bool) -> None:
        """A collector could not apply a version; ``by_all``: nobody else can."""
        self.last_failure = failure
        if failure.version not in self._unacknowledged:
            return
        if by_all:
            del self._unacknowledged[failure.version]
            self.failures += 1
        else:
            self._unacknowledged[failure.version] = True
