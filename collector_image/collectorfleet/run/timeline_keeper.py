"""Record the timeline of a run in a thread, from the first report to the end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from types import MappingProxyType
from typing import Final

from collectorfleet.durable_files import describe_failure
from collectorfleet.errors import FolderTakenOver
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.fleet.evaluation_status import result_status
from collectorfleet.run.fenced_folder import FencedFolder
from collectorfleet.timeline import files
from collectorfleet.timeline.configuration import configuration
from collectorfleet.timeline.recorder import Recorder
from collectorfleet.timeline.timeline import Timeline
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0

Keep = Callable[[Timeline], None]
Report = Callable[[], DriverReport]
Results = Callable[[], Sequence[EvaluationResult]]


class TimelineKeeper:
    """Calls each function of ``keeps`` every ``every_seconds`` and at the end. Messages use the keys as names.

    If a function fails, one warning names the function. The other functions and the run continue.
    """

    def __init__(
        self, fleet: CollectorFleet, keeps: Mapping[str, Keep], *, every_seconds: float, before: Timeline | None = None
    ) -> None:
        self._recorder = Recorder(fleet.metadata.name, time.time(), before, configuration(fleet.spec))
        self._keeps = keeps
        self._every_seconds = every_seconds
        self._failed: set[str] = set()
        self._newest: EvaluationResult | None = None  # the newest recorded result

    @contextmanager
    def of(self, report: Report, results: Results) -> Iterator[None]:
        """Record ``report`` and the ``results`` of evaluations, oldest first, inside the ``with`` block."""
        ended = threading.Event()
        thread = threading.Thread(target=self._run, args=(report, results, ended), name="timeline", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._note(report, results)
            self._write()

    def end(self, sentence: str) -> None:
        """Record how the run ended."""
        self._recorder.end(sentence)
        self._write()

    def _run(self, report: Report, results: Results, ended: threading.Event) -> None:
        due = 0.0
        while not ended.wait(LOOK_SECONDS):
            self._note(report, results)
            if time.monotonic() >= due:
                self._write()
                due = time.monotonic() + self._every_seconds

    def _note(self, report: Report, results: Results) -> None:
        # Read the report first. A report that is read later could have a newer result than ``results``. A result that
        # ended between these two would then be lost.
        seen = report()
        new = list(takewhile(lambda one: one is not self._newest, reversed(results())))
        self._recorder.note(seen, time.time(), [result_status(one) for one in new])
        self._newest = new[0] if new else self._newest

    def _write(self) -> None:
        timeline = self._recorder.timeline()
        for name, keep in self._keeps.items():
            try:
                keep(timeline)
            except (OSError, FolderTakenOver) as error:
                if name not in self._failed:
                    cause = describe_failure(error) if isinstance(error, OSError) else error
                    log.warning("%s cannot be written, and the run continues without it: %s", name, cause)
                self._failed.add(name)
            else:
                if name in self._failed:
                    log.info("%s is written again", name)
                self._failed.discard(name)


def keeper_in(
    folder: FencedFolder,
    fleet: CollectorFleet,
    *,
    every_seconds: float,
    also: Mapping[str, Keep] = MappingProxyType({}),
    before: Timeline | None = None,
) -> TimelineKeeper:
    """Keep the timeline in ``folder``, beside the checkpoints.

    Continue the timeline in the folder. If the folder has no timeline, continue ``before``. ``also`` maps names to
    further functions that get the timeline.
    """
    try:
        before = files.read(folder.path / files.NAME) or before
    except (OSError, ValueError) as error:
        log.warning("a new timeline begins, because the previous one cannot be read: %s", error)

    def keep(timeline: Timeline) -> None:
        folder.put(files.NAME, timeline.to_wire())

    keeps = {**also, "the timeline of the run": keep}
    return TimelineKeeper(fleet, keeps, every_seconds=every_seconds, before=before)
