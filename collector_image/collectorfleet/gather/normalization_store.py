"""Put the fleet's normalization into the store once after each change.

Versions of the weights refer to the stored normalization.
"""

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
    """The stored normalization. Only the gather thread uses this object, and the caller holds the lock."""

    def __init__(self, shared: Shared, transport: Transport) -> None:
        self._shared = shared
        self._transport = transport
        self._stored: Stored | None = None
        self._of = 0  # the value of ``changes`` when the normalization was stored

    def now(self) -> Stored | None:
        """Return the present normalization in the store, or None if the environments have no normalization."""
        known, changes = self._shared.normalization.now, self._shared.normalization.changes
        if self._of != changes:
            self._stored = self._transport.put(codec.encode(known)) if known else None
            self._of = changes
        return self._stored

    def reported(self, collector: str, found: Normalization) -> bool:
        """Record the normalization of a built collector. Return whether versions need a normalization.

        The first built collector defines which statistics the fleet has. If a later collector has different statistics,
        the run ends with an error.
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
