"""The versions of one policy: who has which.

The life of a version: *published* (made current), *offered* to a collector, *applied* by the collector. It is
*acknowledged* once every available collector has applied it or a newer one. A digest proves the loaded weights.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from collectorfleet.messages import POLICY, Proof, Stored, Weights, digest_of
from collectorfleet_api.v1alpha1 import WeightsFailure

# Of versions that a late acknowledgement may still be about.
_KEPT_PROOFS = 256


@dataclass(frozen=True)
class PublishResult:
    """What one collector has: ``version`` is what it acknowledged last, None if nothing yet."""

    version: int | None
    acknowledged: bool  # the version asked about, or a newer one
    error: str | None = None


class Versions:
    """Versions that may still be asked for, and the counts of publishes.

    Dropping one is what lets the transport's store forget its weights.
    """

    def __init__(self, policy: str = POLICY) -> None:
        self.policy = policy
        self.newest: Weights | None = None
        self.published_at: datetime | None = None
        self.publish_seconds: float | None = None
        self.attempted = 0
        self.succeeded = 0
        self.partial = 0
        self.failures = 0
        self.last_failure: WeightsFailure | None = None
        self.unproven = 0  # failures in a row that left no collector with proven weights
        self._first_normalization: tuple[int, Stored] | None = None  # of versions up to this one
        self._kept: dict[int, Weights] = {}
        self._proofs: OrderedDict[int, set[Proof]] = OrderedDict()
        self._unacknowledged: deque[int] = deque()
        self._refused: set[int] = set()  # of those, the ones that a collector failed to apply

    def published(self, weights: Weights, at: datetime, seconds: float) -> None:
        self.newest, self.published_at, self.publish_seconds = weights, at, seconds
        self._kept[weights.version] = weights
        self.attempted += 1
        self._proofs[weights.version] = {weights.proof}
        self._unacknowledged.append(weights.version)
        while len(self._proofs) > _KEPT_PROOFS:
            self._proofs.popitem(last=False)

    def normalized(self, normalization: Stored) -> None:
        """The first collector says what its environment keeps: nobody has loaded the versions before that."""
        if self.newest is not None:
            self._first_normalization = (self.newest.version, normalization)
        self._kept = {version: replace(weights, normalization=normalization) for version, weights in self._kept.items()}
        if self.newest is not None:
            self.newest = self._kept[self.newest.version]
        for version, weights in self._kept.items():
            self._proofs[version] = {weights.proof}

    def newest_with(self, normalization: Stored | None) -> Weights | None:
        """The newest weights for a collector that begins, with what is known of environments by now."""
        if self.newest is None:
            return None
        weights = replace(self.newest, normalization=normalization)
        self._proofs[weights.version].add(weights.proof)
        return weights

    def completed(self, weights: Weights) -> Weights:
        """Return published weights with the statistics of their version, once the first collector has told them."""
        first = self._first_normalization
        if first is None or weights.version > first[0]:
            return weights
        return replace(weights, normalization=first[1])

    def weights(self, version: int) -> Weights:
        """Of a version that was not released."""
        return self._kept[version]

    def release_before(self, version: int) -> None:
        """Nobody can ask for older ones than ``version`` any more."""
        for old in [v for v in self._kept if v < version]:
            if self.newest is None or old != self.newest.version:
                del self._kept[old]

    @property
    def kept(self) -> list[int]:
        return sorted(self._kept)

    def proven(self, version: int, digest: str) -> bool | None:
        """Whether the digest that a collector computed is one of the version it says; None: too long ago to know.

        Who says that works on one rollout for as long as hundreds of versions take, and was offered newer ones since.
        """
        known = self._proofs.get(version)
        return None if known is None else any(digest_of(proof) == digest for proof in known)

    def acknowledged(self, version: int | None) -> None:
        """Every available collector has applied ``version`` or newer; None: there is none."""
        self.unproven = self.unproven if version is None else 0
        while version is not None and self._unacknowledged and self._unacknowledged[0] <= version:
            done = self._unacknowledged.popleft()
            if done in self._refused:
                self._refused.remove(done)
                self.partial += 1
            else:
                self.succeeded += 1

    def failed(self, failure: WeightsFailure, *, by_all: bool) -> None:
        """A collector could not apply a version; ``by_all``: nobody else can."""
        self.last_failure = failure
        self.unproven += by_all
        if failure.version not in self._unacknowledged:
            return
        if by_all:
            self._unacknowledged.remove(failure.version)
            self._refused.discard(failure.version)
            self.failures += 1
        else:
            self._refused.add(failure.version)


def results(
    version: int | None, applied: Mapping[str, int | None], errors: Mapping[str, str | None]
) -> Mapping[str, PublishResult]:
    """What became of a version by slot; None: it was not published yet. ``applied`` is what each has, in order."""
    found = {}
    for name, has in applied.items():
        done = version is not None and has is not None and has >= version
        found[name] = PublishResult(has, done, None if done else errors[name] or _why_not(version))
    return found


def _why_not(version: int | None) -> str:
    return "not published yet: the staleness bound holds it back" if version is None else "not applied yet"
