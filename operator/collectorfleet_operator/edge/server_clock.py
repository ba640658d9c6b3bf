"""What time it is for the API server: what it writes down is compared with that, and not with this machine's clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from typing import Final

import aiohttp

# An answer's date is in whole seconds and some time on its way; clocks that are kept in step differ by less.
_IN_STEP: Final = timedelta(seconds=3)


def _here() -> datetime:
    return datetime.now(UTC)


class ServerClock:
    """This machine's clock, put right by the dates of the API server's answers where the two differ by seconds."""

    def __init__(self, here: Callable[[], datetime] = _here) -> None:
        self._here = here
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return self._here() + self._ahead

    def observe(self, date: str | None) -> None:
        """Take the ``Date`` of an answer that arrives now; None and what is no date say nothing."""
        try:
            answered = parsedate_to_datetime(date or "")
        except ValueError:
            return
        ahead = answered - self._here()
        self._ahead = ahead if abs(ahead) > _IN_STEP else timedelta(0)

    def trace(self) -> aiohttp.TraceConfig:
        """Hears every answer of an HTTP client."""

        async def end(_: aiohttp.ClientSession, __: SimpleNamespace, answered: aiohttp.TraceRequestEndParams) -> None:
            self.observe(answered.response.headers.get("Date"))

        trace = aiohttp.TraceConfig()
        trace.on_request_end.append(end)
        return trace
