"""Writes reports into a fleet's status, through outages and into older CRDs. In the reporter's thread."""

from __future__ import annotations

import logging
import time

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


class StatusWriter:
    """Remembers the last report that the API server took, and the fields that the installed CRD does not know."""

    def __init__(self, api: FleetApi, settings: DriverSettings) -> None:
        self._api = api
        self._settings = settings
        self._last: LastWrite | None = None
        self._undeclared: set[FieldPath] = set()
        self._outage = Outage("cannot write the status")

    def due(self, report: DriverReport) -> bool:
        """Whether ``report`` goes out now."""
        return due(report, self._last, time.monotonic())

    def has_written(self, report: DriverReport) -> bool:
        """Whether that is what the status says, as far as is known here."""
        return self._last is not None and self._last.report == report

    async def write(self, report: DriverReport) -> Object | None:
        """The fleet as it is now, spec included; None if the API server did not take the report.

        Raises FleetGone if the fleet was deleted or replaced.
        """
        try:
            stored = await self._api.apply_status(without(report.to_wire(), self._undeclared))
        except TRANSIENT as error:
            if self._learned_from(error):
                return await self.write(report)
            self._outage.note(error)
            if is_status(error, 404):
                raise FleetGone(f"{self._settings.fleet} was deleted") from None
            return None
        self._outage.over()
        self._last = LastWrite(report, time.monotonic())
        check_uid(stored, self._settings)
        return stored

    def _learned_from(self, error: BaseException) -> bool:
        """Whether a refused report can go out again, without fields that the installed CRD does not know."""
        if not isinstance(error, ApiException) or error.status != 500:
            return False
        new = set(undeclared_fields(error_text(error))) - self._undeclared
        if new:
            fields = ", ".join("status." + ".".join(path) for path in sorted(new))
            log.warning("the installed CRD does not know %s: reports go without; update the CRD", fields)
        self._undeclared |= new
        return bool(new)
