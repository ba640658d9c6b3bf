"""Holds the Lease by which one of several operators serves fleets."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from datetime import UTC, datetime
from typing import Final

from collectorfleet_operator.children.lease import LEASE
from collectorfleet_operator.decide.election import GIVE_UP_SECONDS, Election, holder_of
from collectorfleet_operator.edge.client import Kube, in_cluster
from collectorfleet_operator.edge.errors import ConflictError, KubeError, UnavailableError
from collectorfleet_operator.edge.health import Health
from collectorfleet_operator.objects import Key, Object

log = logging.getLogger(__name__)

# Who waits for a Lease counts from where it saw the renewal: what lies between two looks is added to how long it takes.
LOOK_SECONDS: Final = 1.0
RENEW_SECONDS: Final = 4.0


class Leadership:
    """Of this process, by the Lease ``key``, which is made where there is none."""

    def __init__(self, kube: Kube, key: Key, health: Health) -> None:
        self._kube = kube
        self._election = Election(key, _identity())
        self._health = health
        self._lease: Object | None = None
        self._renewed_at = float("-inf")

    def holds(self) -> bool:
        """Whether nobody else can hold it now. False in a process that was stopped, as soon as it goes on."""
        return time.monotonic() < self._renewed_at + GIVE_UP_SECONDS

    async def take(self, stop: asyncio.Event) -> bool:
        """Block until this process holds the Lease; False if it is told to stop before."""
        last_logged = ""
        while not stop.is_set():
            pause = LOOK_SECONDS
            try:
                free_after, last_logged = await self._look(last_logged)
                pause = min(pause, free_after)
            except ConflictError:
                continue  # another was faster: who holds it is in the newer one
            except KubeError as error:
                if not isinstance(error, UnavailableError):
                    # It answers; starting anew would change nothing.
                    self._health.record_answer()
                last_logged = _log_once(f"waiting for Lease {self._election.key}: {error}", last_logged)
            if self.holds():
                log.info("leading: holds Lease %s as %s", self._election.key, self._election.identity)
                return True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
        return False

    async def keep(self) -> None:
        """Renew; returns when the Lease is lost."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._take(self._lease)
            except ConflictError:
                with contextlib.suppress(KubeError):
                    self._lease = await self._find()
                if holder_of(self._lease) != self._election.identity:
                    self._renewed_at = float("-inf")
                    log.warning("Lease %s was taken by %s", self._election.key, holder_of(self._lease) or "nobody")
                    return
            except KubeError as error:
                log.warning("cannot renew Lease %s: %s", self._election.key, error)
            if not self.holds():
                log.warning("stops leading: Lease %s was not renewed for %d s", self._election.key, GIVE_UP_SECONDS)
                return

    async def release(self) -> None:
        """Let the next one lead at once."""
        if self._lease is None or not self.holds():
            return
        self._renewed_at = float("-inf")
        try:
            await self._kube.apply(LEASE, self._election.given_back(self._lease))
        except KubeError as error:
            log.warning(
                "cannot release Lease %s; the next operator waits until it expires: %s", self._election.key, error
            )
        else:
            log.info("released Lease %s", self._election.key)

    async def _look(self, last_logged: str) -> tuple[float, str]:
        """Take the Lease if that may be; returns seconds until it may, and the newest that was said about waiting."""
        lease = await self._find()
        self._health.record_answer()
        free_after = self._election.free_after(lease, time.monotonic())
        if not free_after:
            await self._take(lease)
            return 0.0, last_logged
        self._health.stand_by(holder_of(lease))
        return free_after, _log_once(f"standing by: {holder_of(lease)} holds Lease {self._election.key}", last_logged)

    async def _find(self) -> Object | None:
        return await self._kube.find(LEASE, self._election.key.namespace, self._election.key.name)

    async def _take(self, lease: Object | None) -> None:
        requested_at = time.monotonic()
        manifest = self._election.held(lease, datetime.now(UTC))
        write = self._kube.apply if lease is not None else self._kube.create
        # Shorter than the client's own patience, so that there is time for another try.
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS / 2 - 1):
                self._lease = await write(LEASE, manifest)
        except TimeoutError as error:
            raise UnavailableError(f"renew Lease {self._election.key}", "no answer in time") from error
        self._renewed_at = requested_at


def _identity() -> str:
    """The pod's name: in a container that was started again, nobody else has it. Outside of pods one for a process."""
    host = socket.gethostname()
    return host if in_cluster() else f"{host}_{os.getpid()}"


def _log_once(text: str, last_logged: str) -> str:
    if text != last_logged:
        log.info(text)
    return text
