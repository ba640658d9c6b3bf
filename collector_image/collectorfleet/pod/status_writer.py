"""Write reports to a fleet's status, also after outages and with older CRDs. Runs in the reporter's thread."""

from __future__ import annotations

import logging
import time
from typing import Final

from kubernetes.aio.client import ApiException

from collectorfleet.pod.kubernetes_api import FleetApi, error_text
from collectorfleet.pod.objects import Object
from collectorfleet.pod.outage import TRANSIENT, Outage, is_status
from collectorfleet.pod.report_schedule import LastWrite, due
from collectorfleet.pod.settings import DriverSettings
from collectorfleet.pod.stored_fleet import check_uid
from collectorfleet.pod.undeclared import FieldPath, undeclared_fields, without
from collectorfleet.run.exit import FleetGone
from collectorfleet_api.v1alpha1 import DriverReport

log = logging.getLogger(__name__)

# After this time, try unknown fields again, because the CRD may be updated while the driver runs.
TRY_AGAIN_SECONDS: Final = 600.0


class StatusWriter:
    """A writer of reports to the status of one fleet.

    The writer stores the last report that the API server accepted, and the fields that the installed CRD does not know.
    """

    def __init__(self, api: FleetApi, settings: DriverSettings) -> None:
        self._api = api
        self._settings = settings
        self._last: LastWrite | None = None
        self._undeclared: dict[FieldPath, float] = {}  # with the time of the refusal, in seconds
        self._outage = Outage("write the status")

    def due(self, report: DriverReport) -> bool:
        """Return whether to write ``report`` now."""
        return due(report, self._last, time.monotonic())

    def has_written(self, report: DriverReport) -> bool:
        """Return whether ``report`` is the last report that the API server accepted."""
        return self._last is not None and self._last.report == report

    async def write(self, report: DriverReport) -> Object | None:
        """Write ``report``, and return the stored fleet with its spec. Return None if the API server did not accept it.

        Raises FleetGone if the fleet was deleted or replaced.
        """
        try:
            stored = await self._api.apply_status(_applied(without(report.to_wire(), self._left_out())))
        except TRANSIENT as error:
            if self._learned_from(error):
                return await self.write(report)
            self._outage.note(error)
            if is_status(error, 404):
                raise FleetGone(f"{self._settings.fleet} was deleted") from None
            if is_status(error, 409):
                await self._check_uid()
            return None
        self._outage.over()
        self._last = LastWrite(report, time.monotonic())
        return stored

    async def _check_uid(self) -> None:
        try:
            check_uid(await self._api.fleet(), self._settings)
        except TRANSIENT as error:
            self._outage.note(error)

    def _left_out(self) -> set[FieldPath]:
        now = time.monotonic()
        return {path for path, since in self._undeclared.items() if now - since < TRY_AGAIN_SECONDS}

    def _learned_from(self, error: BaseException) -> bool:
        """Store the unknown fields that the API server's error names. Return whether to write the report again."""
        if not isinstance(error, ApiException) or error.status != 500:
            return False
        found = set(undeclared_fields(error_text(error))) - self._left_out()
        new = found - self._undeclared.keys()
        if new:
            fields = ", ".join("status." + ".".join(path) for path in sorted(new))
            log.warning("the installed CRD does not know %s, so reports omit it; update the CRD", fields)
        self._undeclared |= dict.fromkeys(found, time.monotonic())
        return bool(found)


def _applied(report: Object) -> Object:
    """Return ``report`` without empty maps.

    If a map had entries and is empty now, server-side apply stores null for this map. The CRD refuses null.
    """
    parts = {key: _applied(value) if isinstance(value, dict) else value for key, value in report.items()}
    return {key: value for key, value in parts.items() if value != {}}
