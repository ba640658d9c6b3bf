"""Holds a fleet's Lease: carries out what :mod:`collectorfleet.pod.lease` decides, every few seconds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Final

from collectorfleet.pod.kubernetes_api import FleetApi, Object
from collectorfleet.pod.lease import RENEW_SECONDS, Claim, Lost, Renew, Take, Wait
from collectorfleet.pod.outage import TRANSIENT, Trouble, is_status

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0


class LeaseLoop:
    """The Lease of one driver, whose pod is ``me``. ``lost(holder)`` is called when another driver takes it."""

    def __init__(self, me: str, lost: Callable[[str], None]) -> None:
        self._claim = Claim(me)
        self._lost = lost
        self._lease: Object | None = None  # as the API server last answered; None: read it anew
        self._waiting_for = ""
        self._trouble = Trouble("cannot renew the Lease")
        self.held: Future[None] = Future()  # done once it is ours
        self.is_held = False

    async def run(self, api: FleetApi) -> None:
        """Acquire and renew until cancelled or lost."""
        while True:
            try:
                wait_seconds = await self._step(api)
            except TRANSIENT as error:
                self._lease = None
                # A conflict is another's write between our read and ours: look again.
                if not is_status(error, 409):
                    self._trouble.note(error)
                wait_seconds = LOOK_SECONDS
            if wait_seconds is None:
                return
            await asyncio.sleep(wait_seconds)

    async def release(self, api: FleetApi) -> None:
        """Give it up after the end, so that a next driver need not wait. One try."""
        if self.is_held and self._lease is not None:
            self.is_held = False
            try:
                await api.patch_lease(self._claim.released(self._lease))
            except TRANSIENT as error:
                log.info("the Lease was not released and expires by itself: %s", error)

    async def _step(self, api: FleetApi) -> float | None:
        """One look; returns how long to wait for the next, None if the Lease is another's now."""
        lease = self._lease or await api.lease()
        now = datetime.now(UTC)
        match self._claim.decide(lease, time.monotonic()):
            case Take():
                await self._keep(api, self._claim.taken(lease, now))
            case Renew():
                await self._keep(api, self._claim.renewed(lease, now))
            case Wait(holder):
                if holder != self._waiting_for:
                    log.info("waiting for driver %s, which holds the Lease, to renew it no more", holder)
                self._waiting_for = holder
                return LOOK_SECONDS
            case Lost(holder):
                self.is_held = False
                self._lost(holder)
                return None
        return RENEW_SECONDS

    async def _keep(self, api: FleetApi, patch: Object) -> None:
        self._lease = await api.patch_lease(patch)
        self._trouble.over()
        self.is_held = True
        if not self.held.done():
            self.held.set_result(None)
