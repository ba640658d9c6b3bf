"""Print one line of progress every few seconds, for logs and pipes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from collectorfleet.display.text import progress_line
from collectorfleet_api.v1alpha1 import DriverReport


class ProgressLines:
    """A context manager that passes a line of progress to ``say`` every ``every_seconds`` seconds, and at its exit.

    If batches, collectors, metrics and evaluations have not changed since the previous line, the object skips the line.
    Until the exit, a separate thread calls ``report`` and ``say``. The exit waits until these calls return.
    """

    def __init__(self, report: Callable[[], DriverReport], say: Callable[[str], None], *, every_seconds: float) -> None:
        self._report = report
        self._say = say
        self._every_seconds = every_seconds
        self._started = time.monotonic()
        self._shown: object = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> ProgressLines:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._show()

    def _run(self) -> None:
        while not self._ended.wait(self._every_seconds):
            self._show()

    def _show(self) -> None:
        report = self._report()
        progress = report.progress
        evaluated = report.evaluation and (report.evaluation.finished, report.evaluation.awaited_version)
        seen = progress and (progress.batches, progress.collectors, progress.metrics, evaluated)
        if seen != self._shown:
            self._say(progress_line(report, time.monotonic() - self._started))
        self._shown = seen
