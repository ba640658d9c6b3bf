"""Send the metrics of a run to its loggers, in a separate thread.

A logger that waits for a network or a full disk delays no batch and does not end the run. If a logger fails, this
module logs one warning.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

from collectorfleet.durable_files import describe_failure
from collectorfleet.evaluation.result import EpisodeVideo
from collectorfleet.run.log.loggers import Logger
from collectorfleet.run.metrics.families import PREFIX, REPORTED, families
from collectorfleet_api.v1alpha1 import DriverReport

log = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
MOST_WAITING_VIDEOS: Final = 10
CLOSE_SECONDS: Final = 10.0
_GROUP: Final = PREFIX.rstrip("_")


@dataclass(frozen=True)
class _Record:
    metrics: Mapping[str, float]
    frames: int


_NOTHING: Final = _Record({}, 0)


class RunLog:
    """The log of a run. Use it as a context manager.

    It logs the fleet's metrics every ``every_seconds`` and at the end. The x axis is the number of frames delivered so
    far. Metrics of the user keep their names. Metrics of the fleet come from ``report``. Their names are
    ``collectorfleet/NAME``, where ``NAME`` is the metric's name in Prometheus. ``video_sinks`` maps names to functions
    that log a video. Messages use these names.
    """

    def __init__(
        self,
        loggers: Mapping[str, Logger],
        report: Callable[[], DriverReport],
        *,
        every_seconds: float,
        video_sinks: Mapping[str, Callable[[EpisodeVideo], object]] = MappingProxyType({}),
    ) -> None:
        self._loggers = loggers
        self._video_sinks = video_sinks
        self._names = ", ".join({**loggers, **video_sinks})
        self._report = report
        self._every_seconds = every_seconds
        self._waiting: queue.Queue[_Record] = queue.Queue(MOST_WAITING)
        # The limit is low, because the videos for a hanging logger could take hundreds of megabytes.
        self._videos: queue.Queue[Sequence[EpisodeVideo]] = queue.Queue(MOST_WAITING_VIDEOS)
        self._silent: set[str] = set()
        self._left_out = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run log", daemon=True)

    def __enter__(self) -> RunLog:
        if self._names:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._names:
            return
        self._ended.set()
        self._wake()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            log.warning(
                "%s: not finished %g s after the run; about %d records are not logged",
                *(self._names, CLOSE_SECONDS, self._waiting.qsize()),
            )

    def add(self, metrics: Mapping[str, float], frames: int) -> None:
        """Log the user's metrics. Returns at once. If 10,000 records wait, the new record is dropped with a warning."""
        if self._loggers:
            self._put(_Record(metrics, frames))

    def add_videos(self, videos: Sequence[EpisodeVideo]) -> None:
        """Log the videos of an evaluation. Returns at once. If 10 evaluations wait, the new videos are dropped."""
        if not self._video_sinks:
            return
        try:
            self._videos.put_nowait(videos)
        except queue.Full:
            log.warning(
                "%s: videos of %d evaluations wait, so the videos of a further evaluation are dropped",
                *(self._names, MOST_WAITING_VIDEOS),
            )
        self._wake()

    def expect_videos(self) -> None:
        """Log a warning if nothing stores the videos that will be added."""
        if not self._video_sinks:
            log.warning(
                "evaluation.video: no folder and no logger stores the videos; set driver.checkpoint or driver.log, or "
                "read collector.videos() in your code"
            )

    def wait_for_videos(self) -> None:
        """Block until all videos so far are logged, for at most 10 s."""
        with self._videos.all_tasks_done:
            self._videos.all_tasks_done.wait_for(lambda: not self._videos.unfinished_tasks, CLOSE_SECONDS)

    def _put(self, record: _Record) -> None:
        try:
            self._waiting.put_nowait(record)
        except queue.Full:
            if not self._left_out:
                log.warning("%s: %d records wait to be logged; further records are dropped", self._names, MOST_WAITING)
            self._left_out += 1

    def _wake(self) -> None:
        """End the thread's wait for the next record."""
        with suppress(queue.Full):  # the thread does not wait if the queue is full
            self._waiting.put_nowait(_NOTHING)

    def _run(self) -> None:
        next_sample = time.monotonic() + self._every_seconds
        while not (self._ended.is_set() and self._waiting.empty()):
            record = self._next(next_sample)
            if record.metrics:
                self._log(record)
            self._log_videos()
            if time.monotonic() >= next_sample:
                self._log_fleet()
                next_sample = time.monotonic() + self._every_seconds
        self._log_fleet()
        for name, logger in self._loggers.items():
            self._try(name, logger.close)

    def _next(self, deadline: float) -> _Record:
        try:
            return self._waiting.get(timeout=max(deadline - time.monotonic(), 0))
        except queue.Empty:
            return _NOTHING

    def _log_fleet(self) -> None:
        if not self._loggers:
            return
        report = self._report()
        frames = (report.progress and report.progress.frames_delivered) or 0
        if frames:
            self._log(_Record(dict(fleet_metrics(report)), frames))

    def _log(self, record: _Record) -> None:
        for name, logger in self._loggers.items():
            self._try(name, partial(logger.log_metrics, record.metrics, step=record.frames))

    def _log_videos(self) -> None:
        while not self._videos.empty():
            for video in self._videos.get():
                for name, take in self._video_sinks.items():
                    self._try(f"videos for {name}", partial(take, video), what="videos")
            self._videos.task_done()

    def _try(self, name: str, act: Callable[[], object], what: str = "numbers") -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  (a logger may be user code, which may call sys.exit)
            if name not in self._silent:
                cause = describe_failure(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
                log.warning("%s: %s; the run continues without these %s", name, cause, what)
            self._silent.add(name)
        else:
            if name in self._silent:
                log.info("%s accepts %s again", name, what)
            self._silent.discard(name)


def fleet_metrics(report: DriverReport) -> dict[str, float]:
    """Return the fleet's metrics by name, without the user's metrics and without unknown values."""
    return {
        f"{_GROUP}/{metric.name.removeprefix(PREFIX)}": sample.value
        for metric in families("", report)
        if metric.name != f"{PREFIX}{REPORTED}"
        for sample in metric.samples
    }
