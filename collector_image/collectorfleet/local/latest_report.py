"""What is true of a run, for readers that are there before its session and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from collectorfleet_api.v1alpha1 import DriverReport


class LatestReport:
    """Call it, from any thread: nothing before the session, what the session says, what it said last."""

    def __init__(self) -> None:
        self._last = DriverReport()
        self._source: Callable[[], DriverReport] | None = None

    def __call__(self) -> DriverReport:
        source = self._source
        return source() if source else self._last

    @contextmanager
    def of(self, source: Callable[[], DriverReport]) -> Iterator[None]:
        """Report by ``source`` inside the ``with`` block."""
        self._source = source
        try:
            yield
        finally:
            self._last, self._source = source(), None
