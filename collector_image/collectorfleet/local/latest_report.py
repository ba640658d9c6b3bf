"""Provide the report of a run to readers, before, during and after the session of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from collectorfleet_api.v1alpha1 import DriverReport


class LatestReport:
    """The latest report of a run. Call the object to get the report. Any thread may call it.

    Before the session, the report is empty. After the session, it is the last report of the session.
    """

    def __init__(self) -> None:
        self._last = DriverReport()
        self._source: Callable[[], DriverReport] | None = None

    def __call__(self) -> DriverReport:
        source = self._source
        return source() if source else self._last

    @contextmanager
    def of(self, source: Callable[[], DriverReport]) -> Iterator[None]:
        """Inside the ``with`` block, each call of this object returns the report of ``source``."""
        self._source = source
        try:
            yield
        finally:
            self._last, self._source = source(), None
