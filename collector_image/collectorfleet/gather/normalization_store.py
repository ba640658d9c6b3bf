"""Store the fleet's normalization once per change, so that versions of weights can carry it."""

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
    """The stored normalization, for the gather thread. The caller holds the lock."""

    def __init__(self, shared: Shared, transport: Transport) -> None:
        self._shared = shared
        self._transport = transport
        self._stored: Stored | None = None
        self._of = 0  # number of changes when it was stored

    def now(self) -> Stored | None:
        """Return the present normalization; None if environments keep none."""
        known, changes = self._shared.normalization.now, self._shared.normalization.changes
        if self._of != changes:
            self._stored = self._transport.put(codec.encode(known)) if known else None
            self._of = changes
        return self._stored

    def reported(self, collector: str, found: Normalization) -> bool:
        """Record the normalization of a built collector. Return whether versions have to carry a normalization.

        The first collector defines the normalization of the fleet. A collector with a different one ends the run.
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
