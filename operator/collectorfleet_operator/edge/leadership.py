"""Leader election: acquires and renews the Lease. Of several operators, only the holder serves fleets."""

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
from collectorfleet_operator.edge.client import Kube
from collectorfleet_operator.edge.configuration import in_cluster
from collectorfleet_operator.edge.errors import ConflictError, KubeError, UnavailableError
from collectorfleet_operator.edge.health import Health
from collectorfleet_operator.objects import Key, Object

log = logging.getLogger(__name__)

# A standby operator counts from the time at which it saw the renewal. So a takeover takes longer by up to this
# interval.
LOOK_SECONDS: Final = 1.0
RENEW_SECONDS: Final = 4.0


class Leadership:
    """The leadership of this process through the Lease ``key``. A missing Lease is created."""

    def __init__(self, kube: Kube, key: Key, health: Health) -> None:
        self._kube = kube
        self._election = Election(key, _identity())
        self._health = health
        self._lease: Object | None = None
        self._renewed_at = float("-inf")

    def holds(self) -> bool:
        """Return whether the last renewal is so recent that no other process can hold the Lease now.

        A process that was paused for too long gets False as soon as it continues.
        """
        return time.monotonic() < self._renewed_at + GIVE_UP_SECONDS

    async def take(self, stop: asyncio.Event) -> bool:
        """Block until this process holds the Lease, and return True. Return False if ``stop`` is set first."""
        last_logged, conflicts = "", 0
        while not stop.is_set():
            pause = LOOK_SECONDS
            try:
                free_after, last_logged = await self._look(last_logged)
                pause, conflicts = min(pause, free_after), 0
            except ConflictError as error:
                conflicts += 1
                if conflicts == 1:
                    continue  # another operator was faster: read the newer Lease for its holder
                last_logged = _log_once(f"waiting for Lease {self._election.key}: {error}", last_logged)
            except KubeError as error:
                if not isinstance(error, UnavailableError):
                    # The API server answers, so a restart of this process would not help.
                    self._health.record_answer()
                last_logged = _log_once(f"waiting for Lease {self._election.key}: {error}", last_logged)
            if self.holds():
                log.info("leading: holds Lease %s as %s", self._election.key, self._election.identity)
                return True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
        return False

    async def keep(self) -> None:
        """Renew the Lease again and again. Return when the Lease is lost."""
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
        """Give the Lease back, so that the next operator leads at once."""
        if self._lease is None or not self.holds():
            return
        self._renewed_at = float("-inf")
        try:
            await self._give_back(self._lease)
        except KubeError as error:
            log.warning(
                "cannot release Lease %s, so the next operator waits until the Lease expires: %s",
                self._election.key,
                error,
            )
        else:
            log.info("released Lease %s", self._election.key)

    async def _give_back(self, lease: Object) -> None:
        try:
            await self._kube.apply(LEASE, self._election.given_back(lease))
        except ConflictError:
            # The API server may have stored the last renewal, although this process did not get the answer.
            newest = await self._find()
            if newest is None or holder_of(newest) != self._election.identity:
                raise
            await self._kube.apply(LEASE, self._election.given_back(newest))

    async def _look(self, last_logged: str) -> tuple[float, str]:
        """Acquire the Lease if it is free.

        Return the seconds until the Lease is free, and the last log line about waiting.
        """
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
        # This timeout is shorter than the client's own, so that there is time for a second try.
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS / 2 - 1):
                self._lease = await write(LEASE, manifest)
        except TimeoutError as error:
            raise UnavailableError(f"renew Lease {self._election.key}", "no answer in time") from error
        self._renewed_at = requested_at


def _identity() -> str:
    """Return the pod's name, which is unique and survives a container restart.

    Outside of a pod, return text with the host and the process.
    """
    host = socket.gethostname()
    return host if in_cluster() else f"{host}_{os.getpid()}"


def _log_once(text: str, last_logged: str) -> str:
    if text != last_logged:
        log.info(text)
    return text
