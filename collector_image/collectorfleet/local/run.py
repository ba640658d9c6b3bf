"""``collectorfleet run FILE``: one fleet on this machine, from its manifest to its final status."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from rich.console import Console

from collectorfleet.display.lines import ProgressLines
from collectorfleet.display.live import LiveTable
from collectorfleet.errors import InvalidOption
from collectorfleet.local.code_files import find_config_map, write_files
from collectorfleet.local.gpus import gpu_share
from collectorfleet.local.local_ray import local_ray, prepare_environment
from collectorfleet.local.status import final_status
from collectorfleet.logs import log_to_file
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.owner import holds_anything
from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError, exit_code
from collectorfleet.run.history import RunHistory
from collectorfleet.run.metrics.server import THIS_MACHINE, metrics_served
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.stop import StopRequest, stop_on_signals
from collectorfleet.run.supervision import supervise
from collectorfleet_api.manifests.files import Manifests
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport

LINES_EVERY_SECONDS = 2.0
LONGEST_TEMP_DIR = 20
# A person who presses Ctrl-C waits; long enough for a training step and a saved file.
INTERRUPT_GRACE = timedelta(seconds=5)


@dataclass(frozen=True)
class RunOptions:
    """Who sees what: ``out`` progress, ``errors`` the first cause, ``status_out`` the final status as JSON,
    ``metrics_port`` (of 127.0.0.1) Prometheus. ``checkpoints`` is the folder for them; with ``resume`` the run goes on
    from what is in it."""

    out: TextIO
    errors: TextIO
    status_out: TextIO | None
    verbose: bool
    metrics_port: int | None = None
    checkpoints: Path | None = None
    resume: bool = False


def run(fleet: CollectorFleet, manifests: Manifests, source: Path, options: RunOptions) -> int:
    """Run ``fleet``, one of the ``manifests`` in the file ``source``, to its end; returns the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="cfleet-", dir=_short_temp_dir()))
    log_to_file(folder / "run.log", errors=options.errors if options.verbose else None)
    stop = StopRequest(grace=INTERRUPT_GRACE)
    local = _LocalRun(fleet, folder, options, stop)
    with stop_on_signals(stop):
        ended = supervise(lambda: local.work(manifests, source), stop)
        if options.status_out:
            status = final_status(fleet.spec, local.report, ended, datetime.now(UTC))
            json.dump(status.to_wire(), options.status_out, indent=2)
            options.status_out.write("\n")
            options.status_out.flush()
        _say(ended, folder / "run.log", options)
        _clean(folder, ended)
    return exit_code(ended)


class _LocalRun:
    """One run; ``report`` is the newest that is known, also after the end."""

    def __init__(self, fleet: CollectorFleet, folder: Path, options: RunOptions, stop: StopRequest) -> None:
        self._fleet = fleet
        self._folder = folder
        self._options = options
        self._stop = stop
        self.report = DriverReport()
        self._running: Callable[[], DriverReport] | None = None

    def work(self, manifests: Manifests, source: Path) -> Completed:
        with self._metrics(), self._checkpoints() as folder:
            return self._work(manifests, source, folder)

    def _work(self, manifests: Manifests, source: Path, folder: CheckpointFolder | None) -> Completed:
        log_milestone(Milestone.PYTHON)
        prepare_environment(self._import_path(manifests, source))
        collectors = self._fleet.spec.collectors
        self._print(f"fleet {self._fleet.metadata.name}: starting, {collectors.replicas} collectors on this machine")
        ray = local_ray(collectors.replicas, self._folder / "ray", show_output=self._options.verbose)
        with ray as gpus, stop_on_signals(self._stop):  # again, because Ray took SIGTERM for itself
            log_milestone(Milestone.RAY)
            self._stop.raise_if_requested()
            # Here and not above: torch takes seconds to import, and Ray's workers, which do the same, come first.
            from collectorfleet.run.own_code import load_own_code
            from collectorfleet.run.session import open_session

            log_milestone(Milestone.IMPORTS)
            self._stop.raise_if_requested()
            share = gpu_share(collectors, gpus)
            if share.note:
                self._print(f"note: {share.note}")
            code = load_own_code(self._fleet.spec)
            history = folder.history() if folder else RunHistory(str(uuid4()))
            with open_session(
                self._fleet, code, self._stop, history, folder, gpu_per_collector=share.per_collector
            ) as session:
                if session.resume_point.sentence:
                    self._print(session.resume_point.sentence)
                try:
                    self._running = session.report
                    with self._display(session.report):
                        return session.execute()
                finally:
                    self._stop.run_ended()
                    self.report, self._running = session.report(), None

    def _import_path(self, manifests: Manifests, source: Path) -> list[Path]:
        """The ConfigMap's files, then what stands for the image: the manifest's folder and the one we are in."""
        beside = [source.absolute().parent, Path.cwd()]
        code = self._fleet.spec.code
        if code is None:
            return beside
        mounted = self._folder / "code"
        write_files(find_config_map(code.config_map, manifests, source), mounted)
        return [mounted, *beside]

    def _display(self, report: Callable[[], DriverReport]) -> AbstractContextManager[object]:
        console = Console(file=self._options.out)
        # Log lines would tear the table apart.
        if console.is_terminal and not self._options.verbose:
            return LiveTable(self._fleet.metadata.name, report, console)
        return ProgressLines(report, self._print, every_seconds=LINES_EVERY_SECONDS)

    def _metrics(self) -> AbstractContextManager[None]:
        port = self._options.metrics_port
        if port is None:
            return nullcontext()
        return metrics_served(self._fleet.metadata.name, self._now, port, THIS_MACHINE)

    def _checkpoints(self) -> AbstractContextManager[CheckpointFolder | None]:
        """Before anything that takes time: the folder may be the wrong one."""
        path = self._options.checkpoints
        if path is None:
            return nullcontext()
        if not self._options.resume and holds_anything(path):
            raise InvalidOption(
                f"--checkpoint {path}: the folder is not empty; go on from what is in it with --resume, "
                "or name an empty one"
            )
        return closing(CheckpointFolder(path, fleet=self._fleet.metadata.name, run=str(uuid4())))

    def _now(self) -> DriverReport:
        return self._running() if self._running else self.report

    def _print(self, line: str) -> None:
        _print(line, self._options.out)


def _short_temp_dir() -> str:
    """Ray puts sockets below it, whose paths may have 107 characters, and needs 85 of them itself."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= LONGEST_TEMP_DIR else "/tmp"  # noqa: S108 (mkdtemp makes the folder ours alone)


def _say(ended: Exit, log_file: Path, options: RunOptions) -> None:
    log = logging.getLogger(__name__)
    match ended:
        case Completed(message):
            _print(f"completed: {message}", options.out)
        case Stopped(message):
            _print(message, options.out)
        case UserError(message, traceback) | Broken(message, traceback):
            log.error("failed: %s\n%s", message, traceback)
            _print(f"error: {message}", options.errors)
            _print(f"The traceback is in {log_file}.", options.errors)


def _print(line: str, stream: TextIO) -> None:
    # A reader that went away, as of `| head`, does not end a run.
    with suppress(BrokenPipeError):
        print(line, file=stream, flush=True)


def _clean(folder: Path, ended: Exit) -> None:
    """Keep the log of a failed run, and with it Ray's own where the user's code was not the reason."""
    if isinstance(ended, Broken):
        return
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
    if not isinstance(ended, UserError):
        shutil.rmtree(folder, ignore_errors=True)
