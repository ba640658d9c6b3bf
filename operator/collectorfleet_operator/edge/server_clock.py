"""The API server's clock. Times that the API server writes are compared with it, not with this machine's clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from typing import Final

import aiohttp

# Smaller differences do not count, because an answer's date has whole seconds and arrives late. The difference of
# synchronized clocks is smaller.
_IN_STEP: Final = timedelta(seconds=3)


def _local_now() -> datetime:
    return datetime.now(UTC)


class ServerClock:
    """This machine's clock, corrected by the dates of the API server's answers if they differ by more than 3 s."""

    def __init__(self, local_now: Callable[[], datetime] = _local_now) -> None:
        self._local_now = local_now
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return self._local_now() + self._ahead

    def observe(self, date: str | None) -> None:
        """Correct the clock by the ``Date`` header of an answer that arrives now. Ignore None and a malformed date."""
        try:
            answered = parsedate_to_datetime(date or "")
        except ValueError:
            return
        if answered.tzinfo is None:
            # A date with the zone -0000, or without a zone, is in UTC.
            answered = answered.replace(tzinfo=UTC)
        ahead = answered - self._local_now()
        self._ahead = ahead if abs(ahead) > _IN_STEP else timedelta(0)

    def trace(self) -> aiohttp.TraceConfig:
        """Return a trace that passes the ``Date`` of every answer of an HTTP client to :meth:`observe`."""

        async def end(_: aiohttp.ClientSession, __: SimpleNamespace, answered: aiohttp.TraceRequestEndParams) -> None:
            self.observe(answered.response.headers.get("Date"))

        trace = aiohttp.TraceConfig()
        trace.on_request_end.append(end)
        return trace
