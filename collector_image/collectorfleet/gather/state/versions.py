"""The weights versions of one policy, and their acknowledgements.

A version is first *published*: it becomes the newest version. It is then *offered* to a collector, and the collector
*applies* it. As soon as every available collector has applied this version or a newer version, this version is
*acknowledged*. With a digest, the collector proves which weights it has loaded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from collectorfleet.messages import POLICY, Proof, Stored, Weights, digest_of
from collectorfleet_api.v1alpha1 import WeightsFailure

# Digests are kept for this number of versions, because acknowledgements may arrive late.
_KEPT_PROOFS = 256


@dataclass(frozen=True)
class PublishResult:
    """The result of publishing in one collector. ``version`` is the last version that the collector acknowledged."""

    version: int | None
    acknowledged: bool  # whether it has the published version or a newer version
    error: str | None = None


class Versions:
    """The versions that requests may still need, and the counts of published versions.

    When this object drops a version, the transport's store can free the weights of this version.
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
        self.failures_in_a_row = 0  # failed loads in a row while no other collector was available
        self._first_normalization: tuple[int, Stored] | None = None  # for versions up to this number
        self._kept: dict[int, Weights] = {}
        self._proofs: OrderedDict[int, set[Proof]] = OrderedDict()
        self._unacknowledged: deque[int] = deque()
        self._refused: set[int] = set()  # unacknowledged versions that a collector could not apply

    def published(self, weights: Weights, at: datetime, seconds: float) -> None:
        self.newest, self.published_at, self.publish_seconds = weights, at, seconds
        self._kept[weights.version] = weights
        self.attempted += 1
        self._proofs[weights.version] = {weights.proof}
        self._unacknowledged.append(weights.version)
        while len(self._proofs) > _KEPT_PROOFS:
            self._proofs.popitem(last=False)

    def normalized(self, normalization: Stored) -> None:
        """Add ``normalization``, which the first collector has reported, to all kept versions.

        No collector has loaded these versions yet.
        """
        if self.newest is not None:
            self._first_normalization = (self.newest.version, normalization)
        self._kept = {version: replace(weights, normalization=normalization) for version, weights in self._kept.items()}
        if self.newest is not None:
            self.newest = self._kept[self.newest.version]
        for version, weights in self._kept.items():
            self._proofs[version] = {weights.proof}

    def newest_with(self, normalization: Stored | None) -> Weights | None:
        """Return the newest weights with this normalization, for a joining collector.

        Return None if there are no weights yet.
        """
        if self.newest is None:
            return None
        weights = replace(self.newest, normalization=normalization)
        self._proofs[weights.version].add(weights.proof)
        return weights

    def with_first_normalization(self, weights: Weights) -> Weights:
        """Return ``weights``. If their normalization is missing, the result has the first collector's normalization.

        The normalization is missing if these weights were published before the first collector reported the
        normalization.
        """
        first = self._first_normalization
        if first is None or weights.version > first[0]:
            return weights
        return replace(weights, normalization=first[1])

    def weights(self, version: int) -> Weights:
        """Return the weights of a kept version."""
        return self._kept[version]

    def release_before(self, version: int) -> None:
        """Drop the versions before ``version``, because no request needs them. The newest version is always kept."""
        for old in [v for v in self._kept if v < version]:
            if self.newest is None or old != self.newest.version:
                del self._kept[old]

    @property
    def kept(self) -> list[int]:
        return sorted(self._kept)

    def proven(self, version: int, digest: str) -> bool | None:
        """Return whether the digest matches the version, or None if the digests of this version are no longer kept.

        The result is None if hundreds of versions were published while the collector worked on one rollout. Newer
        versions have been offered to this collector since then.
        """
        known = self._proofs.get(version)
        return None if known is None else any(digest_of(proof) == digest for proof in known)

    def acknowledged(self, version: int | None) -> None:
        """Record that all available collectors have applied ``version`` or a newer version.

        If ``version`` is None, no collector is available.
        """
        self.failures_in_a_row = self.failures_in_a_row if version is None else 0
        while version is not None and self._unacknowledged and self._unacknowledged[0] <= version:
            done = self._unacknowledged.popleft()
            if done in self._refused:
                self._refused.remove(done)
                self.partial += 1
            else:
                self.succeeded += 1

    def failed(self, failure: WeightsFailure, *, has_no_other_available: bool) -> None:
        """Record that a collector could not apply a version.

        ``has_no_other_available``: whether no other collector is available.
        """
        self.last_failure = failure
        self.failures_in_a_row += has_no_other_available
        if failure.version not in self._unacknowledged:
            return
        if has_no_other_available:
            self._unacknowledged.remove(failure.version)
            self._refused.discard(failure.version)
            self.failures += 1
        else:
            self._refused.add(failure.version)


def results(
    version: int | None, applied: Mapping[str, int | None], errors: Mapping[str, str | None]
) -> Mapping[str, PublishResult]:
    """Return the result of publishing ``version``, by slot.

    If ``version`` is None, the weights are not published yet.

    ``applied`` has the version that each collector has applied, by slot, in order.
    """
    found = {}
    for name, has in applied.items():
        done = version is not None and has is not None and has >= version
        found[name] = PublishResult(has, done, None if done else errors[name] or _why_not(version))
    return found


def _why_not(version: int | None) -> str:
    return (
        "not published yet, because the staleness bound allows no further version before the next batch"
        if version is None
        else "not applied yet"
    )
