"""Implement ``collectorfleet run FILE``: run a fleet on this machine, on the main thread, to its final status."""

from __future__ import annotations

import json
import logging
import os
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from uuid import uuid4

from collectorfleet.errors import InvalidOption
from collectorfleet.imports import without_garbage_collection
from collectorfleet.local.code_files import import_path
from collectorfleet.local.gpus import gpu_shares, learner_gpus, why_evaluators_have_no_gpu
from collectorfleet.local.kept_timeline import COMPLETED, ended_as, kept_timeline, write_first_page
from collectorfleet.local.latest_report import LatestReport
from collectorfleet.local.local_processes import gpus_here, local_processes, prepare_processes
from collectorfleet.local.local_ray import local_ray, prepare_environment
from collectorfleet.local.ray_resources import ray_cpus, ray_resources
from collectorfleet.local.run_folder import RunFolder
from collectorfleet.local.status import final_status
from collectorfleet.local.terminal import Terminal
from collectorfleet.logs import log_to_file
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.unsaved_run import has_only_an_unsaved_run, recorded_end, start_over
from collectorfleet.run.exit import Completed, Exit, exit_code
from collectorfleet.run.folders import holds_anything
from collectorfleet.run.history import RunHistory
from collectorfleet.run.metrics.server import THIS_MACHINE, serve_metrics
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.reports import starting_report
from collectorfleet.run.stop import StopRequest, stop_on_signals
from collectorfleet.run.supervision import supervise
from collectorfleet.run.timeline_keeper import TimelineKeeper
from collectorfleet.run.video_folder import video_folder
from collectorfleet_api.counts import counted
from collectorfleet_api.manifests.files import Manifests
from collectorfleet_api.names import WORKER_GROUP
from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetStatus

if TYPE_CHECKING:
    from collectorfleet.run.session import Session
    from collectorfleet.transport.distributed.launcher import Launcher

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunOptions:
    """The options of a local run.

    ``status_out`` is the file for the final status as JSON. ``metrics_port`` is the port of 127.0.0.1 that serves
    metrics during the run. ``checkpoints`` is the folder for checkpoints. With ``resume``, the run resumes from this
    folder. ``report`` is the file for the HTML page about the run.
    """

    status_out: TextIO | None = None
    metrics_port: int | None = None
    checkpoints: Path | None = None
    resume: bool = False
    report: Path | None = None


def run(fleet: CollectorFleet, manifests: Manifests, source: Path, options: RunOptions, terminal: Terminal) -> int:
    """Run ``fleet`` to its end, and return the exit code.

    ``fleet`` is one of the ``manifests`` in the file ``source``.
    """
    folder = RunFolder()
    log_to_file(folder.log_file, errors=terminal.errors if terminal.verbose else None)
    stop = StopRequest()
    local = LocalRun(fleet, folder, options, terminal, stop)
    with stop_on_signals(stop):
        ended = supervise(lambda: local.work(manifests, source), stop)
        local.end(ended)
        if options.status_out:
            _write(final_status(fleet.spec, local.report(), ended, datetime.now(UTC)), options.status_out)
        terminal.say_unwritten(local.report().checkpoint)
        terminal.say_exit(ended, folder.log_file)
        folder.clean(ended)
    return exit_code(ended)


class LocalRun:
    """One local run. :attr:`report` returns its current report, also after the end."""

    def __init__(
        self, fleet: CollectorFleet, folder: RunFolder, options: RunOptions, terminal: Terminal, stop: StopRequest
    ) -> None:
        self.report = LatestReport()
        self._fleet = fleet
        self._name = fleet.metadata.name
        self._folder = folder
        self._options = options
        self._terminal = terminal
        self._stop = stop
        self._timeline: TimelineKeeper | None = None
        self._videos: Path | None = None

    def work(self, manifests: Manifests, source: Path) -> Completed:
        """Start everything, and run the fleet to its end. Raises the error that ends the run early."""
        with self._metrics(), self._checkpoints() as checkpoints:
            path = None if checkpoints is None else checkpoints.path
            self._videos = video_folder(self._fleet.spec, path, self._folder.scratch)
            self._timeline = kept_timeline(self._fleet, checkpoints, self._options.report, self._videos)
            # The timeline records this error, too. Otherwise the next run could not start over in the folder.
            if self._options.report is not None:
                write_first_page(self._fleet, self._options.report)
            log_milestone(Milestone.PYTHON)
            prepare_environment(import_path(self._fleet.spec.code, manifests, source, self._folder.code))
            replicas = self._fleet.spec.collectors.replicas
            self._terminal.say(f"fleet {self._name}: starting, {counted(replicas, 'collector')} on this machine")
            if not self._fleet.spec.has_ray:
                prepare_processes()
                return self._work(None, checkpoints)
            cpus, resources = ray_cpus(self._fleet.spec), ray_resources(self._fleet.spec)
            ray = local_ray(cpus, resources, self._folder.ray, show_output=self._terminal.verbose)
            with ray as gpus, stop_on_signals(self._stop):  # again: Ray replaced the handler of SIGTERM
                log_milestone(Milestone.RAY)
                self._stop.raise_if_requested()
                return self._work(gpus, checkpoints)

    def _work(self, gpus: float | None, checkpoints: CheckpointFolder | None) -> Completed:
        """Execute the session. ``gpus`` is Ray's number of GPUs, or None for a fleet without Ray."""
        # Import this here: torch takes seconds to import, and Ray's workers import it in parallel once Ray runs.
        with self._stop.interruptible(), without_garbage_collection():
            from collectorfleet.run.driver_code import load_driver_code
            from collectorfleet.run.session_opening import open_session

        log_milestone(Milestone.IMPORTS)
        here = gpus_here() if gpus is None else gpus
        learners = learner_gpus(self._fleet.spec, here)
        share = gpu_shares(self._fleet.spec, here - learners.taken)
        without_gpu = why_evaluators_have_no_gpu(self._fleet.spec, here - learners.taken)
        for note in filter(None, (learners.note, share.note, without_gpu)):
            self._terminal.say(f"note: {note}")
        with self._stop.interruptible():
            code = load_driver_code(self._fleet.spec)
        history = checkpoints.history() if checkpoints else RunHistory(str(uuid4()))
        with open_session(
            self._fleet,
            code,
            self._stop,
            history,
            checkpoints,
            gpu_per_collector=share.per_collector,
            learners_on_gpus=not learners.note,
            evaluators_on_gpus=not without_gpu,
            starting=starting_report(self._fleet.spec.collectors.replicas, None),
            say=self._say_resumed,
            launcher=self._launcher(share.per_collector[WORKER_GROUP]) if gpus is None else None,
            videos=self._videos,
        ) as session:
            return self._execute(session)

    def _launcher(self, gpus_per_collector: float) -> Launcher:
        output = None if self._terminal.verbose else self._folder.collectors
        return local_processes(gpus_per_collector, output)

    def _execute(self, session: Session) -> Completed:
        recorded = self._timeline.of(session.report, session.evaluations) if self._timeline else nullcontext()
        with self.report.of(session.report), recorded:
            try:
                with self._terminal.progress(self._name, session.report):
                    return session.execute()
            finally:
                self._stop.run_ended()

    def end(self, ended: Exit) -> None:
        """Record in the timeline how the run ended, if the run keeps a timeline."""
        if self._timeline is not None:
            self._timeline.end(ended_as(ended))

    def _say_resumed(self, sentence: str) -> None:
        """Write the sentence to the terminal and to the log."""
        log.warning(sentence)
        self._terminal.say(sentence)

    def _metrics(self) -> AbstractContextManager[None]:
        port = self._options.metrics_port
        if port is None:
            return nullcontext()
        return serve_metrics(self._name, self.report, port, THIS_MACHINE)

    def _checkpoints(self) -> AbstractContextManager[CheckpointFolder | None]:
        """Open the folder of checkpoints, or raise InvalidOption if it has a run and ``resume`` is not set.

        A run that ended before its first checkpoint has nothing to resume, so a new run replaces its files.

        A run opens the folder before slower steps, so that an error about the folder is raised early.
        """
        path = self._options.checkpoints
        if path is None:
            return nullcontext()
        try:
            is_used = not self._options.resume and holds_anything(path) and not self._starts_over(path)
        except OSError as error:
            raise InvalidOption(
                f"--checkpoint {path}: {error.strerror}; name a folder that can be read and written to"
            ) from error
        if is_used:
            raise InvalidOption(
                f"--checkpoint {path}: the folder is not empty; resume its run with --resume, or name an empty folder"
            )
        return closing(CheckpointFolder(path, fleet=self._name, run=str(uuid4())))

    def _starts_over(self, path: Path) -> bool:
        """Empty the folder at ``path`` if its earlier run failed or stopped without a checkpoint.

        Return whether the folder is empty now.

        Raises InvalidOption if the earlier run has no checkpoint, but may not have ended. Raises OSError.
        """
        # The output of the earlier run may have frames. Only a run with the same run name can continue the output.
        if self._fleet.spec.output is not None or not has_only_an_unsaved_run(path, self._name):
            return False
        ended = recorded_end(path)
        if ended is None:
            raise InvalidOption(
                f"--checkpoint {path}: the earlier run left no checkpoint, but may still run; end its process and "
                "remove the folder to start over, or name an empty folder"
            )
        # The timeline shows the finished work of a run whose last checkpoint could not be written.
        if ended.startswith(COMPLETED) or not start_over(path, self._name):
            return False
        self._say_resumed(f"--checkpoint {path}: the earlier run left no checkpoint, so the run starts over")
        return True


def _write(status: CollectorFleetStatus, out: TextIO) -> None:
    try:
        json.dump(status.to_wire(), out, indent=2)
        out.write("\n")
        out.flush()
    except BrokenPipeError:  # the reader has closed the pipe; without dup2, Python would flush and fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
