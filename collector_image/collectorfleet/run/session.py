"""Execute one run of one fleet, in a driver pod or on a laptop.

:mod:`collectorfleet.run.session_opening` creates a collector from the spec and the user's policy, or lets the user's
script create it. :meth:`Session.execute` calls the training function, runs the script or writes batches to the output.
:meth:`Session.report` returns the current state. Any thread may call it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any, Final

from collectorfleet.errors import InfrastructureError, InvalidOption
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.run.collector_setup import CollectorSetup
from collectorfleet.run.endings import EndReason, LastCheckpoint, checkpoint_of, end_reason
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.log.run_log import RunLog
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.position import Position
from collectorfleet.run.resume_point import ResumePoint
from collectorfleet.run.run_collector import RunCollector
from collectorfleet.run.spec_learners.run_learners import RunLearners
from collectorfleet.run.stop import StopRequest
from collectorfleet.run.video_folder import VideoFolder
from collectorfleet_api.v1alpha1 import DriverReport, Progress

SHUTDOWN_SECONDS: Final = 10


class Session:
    """A run with its collector, and the work that uses the collector's batches.

    If the run has a script, the script creates the collector while it runs.
    """

    def __init__(self, making: CollectorSetup, run: Run, starting: DriverReport, stop: StopRequest) -> None:
        """``starting`` is the report until the collector exists."""
        self.resume_point = ResumePoint(Position())
        self._making = making
        self._run = run
        self._starting = starting
        self._stop = stop
        self._run_log: RunLog | None = None
        self._videos: VideoFolder | None = None
        self._collector: RunCollector | None = None
        self._is_there = threading.Event()
        # Requests that arrive before the collector exists.
        self._size: tuple[int, int] | None = None
        self._drained: Collection[str] = ()
        self._work: Callable[[], Completed] | None = None
        self._learners: RunLearners | None = None

    def set_learners(self, learners: RunLearners) -> None:
        """Use ``learners``. Learners start before the collector that writes to them, and end after the collector."""
        self._learners = learners
        self._run.set_learners(learners)

    def set_video_log(self, run_log: RunLog, folder: VideoFolder | None) -> None:
        """Write the videos of each evaluation to the loggers of ``run_log``, and to ``folder`` if it is not None."""
        self._run_log, self._videos = run_log, folder

    def begin(self, collector: RunCollector, resume_point: ResumePoint) -> None:
        """Use the new ``collector``, and apply earlier requests to the collector. Call this on the main thread."""
        self.resume_point = resume_point
        self._collector = collector
        if collector.evaluates:
            self._run.set_evaluations(collector.evaluations)
            if self._run_log is not None:
                collector.take_videos(self._run_log.add_videos)
                evaluation = collector.status().evaluation
                if evaluation is not None and evaluation.video is not None:
                    self._run_log.expect_videos()
        if self._size:
            collector.resize(*self._size)
        if self._drained:
            collector.drain_pods(self._drained)
        self._is_there.set()
        log_milestone(Milestone.CONSTRUCTED)

    def report(self) -> DriverReport:
        """Return the current report. Any thread may call it, also after the end."""
        own: dict[str, Any] = {"metrics": dict(self._run.metrics)}
        collector = self._collector
        if collector is None:
            report = self._starting
        else:
            report = collector.status()
            own |= {
                "frames_lost": self.resume_point.position.frames_lost,
                "replay_buffer_frames_lost": self.resume_point.buffer_frames_lost,
            }
        progress = (report.progress or Progress()).model_copy(update=own)
        told: dict[str, Any] = {"progress": progress, "checkpoint": self._making.checkpoints.status}
        if self._learners is not None:
            told["learners"] = self._learners.status
        if report.evaluation is not None and self._videos is not None:
            told["evaluation"] = self._videos.named_in(report.evaluation)
        return report.model_copy(update=told)

    def evaluations(self) -> list[EvaluationResult]:
        """Return the results of evaluations in this session, oldest first. Any thread may call it."""
        collector = self._collector
        return [] if collector is None or not collector.evaluates else collector.evaluations()

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        """Block until an important state changes, or until the timeout. See FleetCollector.wait_for_change."""
        collector = self._collector
        if collector is None:
            self._is_there.wait(timeout_seconds)
            return 0
        return collector.wait_for_change(seen, timeout_seconds)

    def resize(self, replicas: int, min_available: int) -> None:
        """Resize the fleet to ``replicas`` collectors, of which at least ``min_available`` have to be available."""
        self._size = (replicas, min_available)
        if self._collector is not None:
            self._collector.resize(replicas, min_available)

    def drain_pods(self, pods: Collection[str]) -> None:
        """Move the collectors off these pods, which will be replaced. See FleetCollector.drain_pods."""
        self._drained = pods
        if self._collector is not None:
            self._collector.drain_pods(pods)

    def set_work(self, work: Callable[[], Completed]) -> None:
        """Set the work that :meth:`execute` does."""
        self._work = work

    def execute(self) -> Completed:
        """Train, or write batches to the output. Blocks until the work is done or a stop is requested.

        Raises UserCodeError if the user's code raises, and another CollectorFleetError if the fleet fails.
        """
        if self._work is None:
            raise InvalidOption(
                "spec: set driver.train, driver.script, learners or output; otherwise the frames would be lost"
            )
        try:
            done = self._work()
            if self._collector is not None and self._collector.evaluates:
                # A request to stop ends the wait. The next driver then finishes the evaluation.
                self._collector.settle()
                self._collector.finish_evaluation()
                if self._run_log is not None:
                    self._run_log.wait_for_videos()  # the last status then names the newest file
            self._stop.run_ended()
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)
        return done

    def _end(self, error: BaseException | None) -> None:
        """Write the last checkpoint, as :mod:`collectorfleet.run.endings` decides.

        From the beginning of this call on, StopNow is not raised.
        """
        self._stop.run_ended()
        asked = self._stop.reason
        way = end_reason(error, asked.way if asked else None)
        if self._collector is not None and error is None:
            if way is EndReason.RETURNED:
                self._collector.settle()
            if self._learners is not None:
                self._learners.update_status(self._collector, force=True)
        if self._collector is not None:
            # Otherwise the status could name a result that the last checkpoint lacks.
            self._collector.stop_evaluating()
        match checkpoint_of(way, returned=error is None):
            case LastCheckpoint.OF_THE_END:
                is_completed = way is EndReason.RETURNED
                if is_completed or self._making.boundary.may_replace_checkpoint:
                    self._making.checkpoints.write(self.position(), completed=is_completed)
            case LastCheckpoint.OF_THE_LAST_BATCH:
                self._making.boundary.write_last()
            case LastCheckpoint.NONE:
                pass
        if self._making.taken_over and error is None:
            # The request to end came too late, so the last training steps are lost.
            raise InfrastructureError(self._making.taken_over)

    def position(self) -> Position:
        """Return the progress of the run. Any thread may call it."""
        return self.resume_point.position if self._collector is None else self._collector.position()

    def close(self) -> None:
        """End the collectors, and then the learners."""
        if self._collector is not None:
            self._collector.end(timeout=SHUTDOWN_SECONDS)
        if self._learners is not None:
            self._learners.close()
