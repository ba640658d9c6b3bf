"""Which normalization goes with which version: what the fleet's is at a moment lies in the transport's store, once."""

from __future__ import annotations

import logging

from collectorfleet.codec import normalization as codec
from collectorfleet.errors import UserCodeError
from collectorfleet.gather.shared import Shared
from collectorfleet.messages import Stored
from collectorfleet.normalization import Normalization
from collectorfleet.transport.interface import Transport

log = logging.getLogger("collectorfleet")


class NormalizationStore:
    """The gather thread's; the caller holds the lock."""

    def __init__(self, shared: Shared, transport: Transport) -> None:
        self._shared = shared
        self._transport = transport
        self._stored: Stored | None = None
        self._of = 0  # changes by then

    def now(self) -> Stored | None:
        """The normalization as it is now; None if environments keep none."""
        known, changes = self._shared.normalization.now, self._shared.normalization.changes
        if self._of != changes:
            self._stored = self._transport.put(codec.encode(known)) if known else None
            self._of = changes
        return self._stored

    def reported(self, collector: str, found: Normalization) -> bool:
        """A collector is built; the first tells it for all. Returns whether there is something to carry.

        Environments that differ end the run.
        """
        fleet, versions = self._shared.normalization, self._shared.versions
        is_first = fleet.reported_by is None
        try:
            dropped = fleet.reported(collector, found)
        except ValueError as error:
            self._shared.abort(UserCodeError(f"environment (collector {collector})", str(error)))
            return False
        if dropped:
            log.warning("the state to resume from has %s, but no environment has it", ", ".join(dropped))
        stored = self.now()
        if is_first and stored is not None:
            versions.normalized(stored)
        return stored is not None
