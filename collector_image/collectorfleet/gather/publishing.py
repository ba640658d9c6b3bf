"""Publish versions of the weights, and offer versions to collectors.

The gather thread calls this code and holds the lock.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from collectorfleet.gather.normalization_store import NormalizationStore
from collectorfleet.gather.outbox import Outbox
from collectorfleet.gather.shared import Shared
from collectorfleet.gather.state.collector import Collector
from collectorfleet.gather.state.offers import Pace
from collectorfleet.messages import Request, Stored, Weights

log = logging.getLogger("collectorfleet")


class Publishing:
    """Publishes staged weights as versions, and offers the newest version to collectors at a limited rate."""

    def __init__(self, shared: Shared, outbox: Outbox, normalization: NormalizationStore) -> None:
        self._shared = shared
        self._outbox = outbox
        self._normalization = normalization
        self._pace = Pace()

    def answered(self) -> None:
        """Record that a collector has answered. This allows one more offer."""
        self._pace.answered()

    def publish_staged(self) -> None:
        """Publish the staged snapshot if the staleness bound allows it."""
        shared, staged = self._shared, self._shared.staged
        if staged is None or staged.stored is None or not shared.gather.may_advance():
            return
        stored, shared.staged, staged.stored = staged.stored, None, None
        staged.version = self.publish_as_next(stored, staged.seconds)

    def publish_as_next(self, stored: Stored, seconds: float) -> int:
        """Publish ``stored`` as the next version. Return the version.

        ``seconds`` is the time in seconds that it took to store the weights.
        """
        shared = self._shared
        version = shared.gather.version = shared.gather.version + 1
        # Not earlier: while the first weights wait, the fleet collects without weights, and restarts lost collectors.
        shared.has_weights = True
        weights = Weights(version, stored, normalization=self._normalization.now())
        shared.versions.published(weights, datetime.now(UTC), seconds)
        if shared.on_publish is not None:
            shared.on_publish(weights, shared.gather.frames_handed_out)
        shared.versions.release_before(shared.gather.oldest_needed)
        log.info("published version %d (%d bytes)", version, stored.size_bytes)
        shared.note_change()
        return version

    def offer_newest(self, now: float) -> bool:
        """Offer the newest weights to collectors with older weights.

        Return False if the rate limit delays some offers.
        """
        newest = self._shared.versions.newest
        while newest is not None:
            one = self._shared.gather.collectors.next_to_offer(newest.version)
            if one is None:
                break
            if not self._pace.take(now):
                return False
            self.offer(one, newest)
        return True

    def offer(self, one: Collector, weights: Weights) -> None:
        """Offer these weights at once, without the rate limit."""
        self._shared.gather.collectors.offered(one, weights.version)
        self._outbox.offer(one.id, weights)

    def weights_for_request(self, one: Collector, request: Request) -> Weights | None:
        """Return the weights to send with the request, or None if the request needs no weights.

        If the request demands an exact version, return this version. Otherwise return the newest version, unless it was
        already offered to the collector.
        """
        versions = self._shared.versions
        if request.version is not None:
            return versions.weights(request.version) if self._shared.has_weights else None
        newest = versions.newest
        if newest is None or one.offered_version >= newest.version:
            return None
        self._shared.gather.collectors.offered(one, newest.version)
        return newest
