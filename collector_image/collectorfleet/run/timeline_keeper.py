"""Keeps the timeline of a run, on a thread of its own, from the first report to the end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from collectorfleet.errors import FolderTakenOver
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.timeline import files
from collectorfleet.timeline.configuration import configuration
from collectorfleet.timeline.recorder import Recorder
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0

Keep = Callable[[Timeline], None]


class TimelineKeeper:
    """``keep`` is called every ``every_seconds`` and at the end; what it cannot do is said once and costs no run."""

    def __init__(
        self, fleet: CollectorFleet, keep: Keep, *, every_seconds: float, before: Timeline | None = None
    ) -> None:
        self._recorder = Recorder(fleet.metadata.name, time.time(), before, configuration(fleet.spec))
        self._keep = keep
        self._every_seconds = every_seconds
        self._has_failed = False

    @contextmanager
    def of(self, report: Callable[[], DriverReport]) -> Iterator[None]:
        """Within it, what ``report`` says is recorded."""
        ended = threading.Event()
        thread = threading.Thread(target=self._run, args=(report, ended), name="timeline", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._recorder.note(report(), time.time())
            self._write()

    def end(self, sentence: str) -> None:
        """How the run ended."""
        self._recorder.end(sentence)
        self._write()

    def _run(self, report: Callable[[], DriverReport], ended: threading.Event) -> None:
        due = 0.0
        while not ended.wait(LOOK_SECONDS):
            self._recorder.note(report(), time.time())
            if time.monotonic() >= due:
                self._write()
                due = time.monotonic() + self._every_seconds

    def _write(self) -> None:
        try:
            self._keep(self._recorder.timeline())
        except (OSError, FolderTakenOver) as error:
            if not self._has_failed:
                log.warning("the timeline of the run is not kept: %s", error)
            self._has_failed = True


def keeper_in(
    folder: FencedFolder,
    fleet: CollectorFleet,
    *,
    every_seconds: float,
    also: Keep = lambda _timeline: None,
    before: Timeline | None = None,
) -> TimelineKeeper:
    """Keeps it in ``folder``, beside the checkpoints, and goes on in what is there, or else in ``before``.

    ``also`` is called with it too, whether or not the folder takes it.
    """
    try:
        before = files.read(folder.path / files.NAME) or before
    except (OSError, ValueError) as error:
        log.warning("a new timeline begins, because the previous one cannot be read: %s", error)

    def keep(timeline: Timeline) -> None:
        also(timeline)  # first: the folder may be full
        folder.put(files.NAME, timeline.to_wire())

    return TimelineKeeper(fleet, keep, every_seconds=every_seconds, before=before)
