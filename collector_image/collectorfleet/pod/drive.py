"""``collectorfleet drive``: the driver as the operator starts it, in a pod.

The slow steps of the start run at the same time. This thread imports torch, a second thread waits for the head and
joins Ray, and a third reads the fleet and takes the Lease.
"""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from typing import Final

from collectorfleet.display.lines import ProgressLines
from collectorfleet.imports import without_collections
from collectorfleet.pod.early_stop import driver_has_begun
from collectorfleet.pod.hosts import hosts_of
from collectorfleet.pod.process_exit import counted_exits
from collectorfleet.pod.ray_node import RayNode
from collectorfleet.pod.reporter import Reporter
from collectorfleet.pod.settings import TERMINATION_LOG, DriverSettings
from collectorfleet.pod.stored_fleet import last_report
from collectorfleet.pod.working_folder import enter_working_folder
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.endings import EndReason
from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError, exit_code, termination_message
from collectorfleet.run.history import RunHistory
from collectorfleet.run.metrics.server import BackgroundMetrics
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.position import Position
from collectorfleet.run.reports import starting_report
from collectorfleet.run.stop import StopReason, StopRequest, stop_on_signals
from collectorfleet.run.supervision import supervise
from collectorfleet.run.timeline_keeper import TimelineKeeper, keeper_in
from collectorfleet.run.video_folder import video_folder
from collectorfleet_api.log_lines import EXCEPTION
from collectorfleet_api.names import CODE_MOUNT, METRICS_PORT, WORKER_GROUP
from collectorfleet_api.packing.quantity import whole_cpus
from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetSpec

log = logging.getLogger(__name__)

PROGRESS_SECONDS: Final = 10.0
TIMELINE_SECONDS: Final = 60.0


def drive(settings: DriverSettings) -> int:
    """Drive the fleet to its end; returns the exit code."""
    log_milestone(Milestone.PYTHON)
    stop = StopRequest(settings.grace_seconds)
    with stop_on_signals(stop), counted_exits():
        driver_has_begun()
        ended = supervise(lambda: _until_ray_is_told_to_end(settings, stop), stop)
    _announce(ended)
    return exit_code(ended)


def _until_ray_is_told_to_end(settings: DriverSettings, stop: StopRequest) -> Completed:
    """Drive; a SIGTERM that Ray handled, because it took the signal for itself, is a request to stop and no failure."""
    try:
        return _drive(settings, stop)
    except SystemExit as ended:
        if ended.code == signal.SIGTERM:
            stop.request(StopReason(EndReason.SIGTERM, signal.SIGTERM.name))
        raise


def _drive(settings: DriverSettings, stop: StopRequest) -> Completed:
    with Reporter(settings, stop) as reporter, BackgroundMetrics(settings.name, reporter.report, METRICS_PORT):
        node = RayNode(settings.ray_address, stop) if settings.ray_address else None
        # Here and not above, because these imports take seconds and everything else goes on meanwhile.
        with without_collections():
            from collectorfleet.run.driver_code import load_driver_code
            from collectorfleet.run.session import open_session

        log_milestone(Milestone.IMPORTS)
        fleet = reporter.fleet()
        _set_torch_threads(fleet.spec)
        folder = _checkpoint_folder(fleet, settings)
        history = _history(fleet, settings, folder)
        enter_working_folder(Path(CODE_MOUNT))
        code = load_driver_code(fleet.spec)
        gpus = _gpu_per_collector(fleet.spec)
        launcher = None if node else hosts_of(fleet, settings, gpus[WORKER_GROUP], stop)
        if node:
            _join(node, settings.ray_address)
        with (
            stop_on_signals(stop),  # again, because Ray took SIGTERM for itself
            open_session(
                fleet,
                code,
                stop,
                history,
                folder,
                gpu_per_collector=gpus,
                starting=starting_report(fleet.spec.collectors.replicas, last_report(fleet)),
                launcher=launcher,
                videos=video_folder(fleet.spec, None if folder is None else folder.path),
            ) as session,
        ):
            reporter.attach(session)
            timeline = _timeline_keeper(fleet, folder, reporter)
            with timeline.of(session.report), ProgressLines(session.report, log.info, every_seconds=PROGRESS_SECONDS):
                completed = session.execute()
            timeline.end(f"completed: {completed.message}")
            return completed


def _join(node: RayNode, address: str) -> None:
    import ray

    node.wait_until_joined()
    ray.init(address=address, log_to_driver=True, logging_level=logging.WARNING)
    log_milestone(Milestone.RAY)


def _timeline_keeper(fleet: CollectorFleet, folder: CheckpointFolder | None, reporter: Reporter) -> TimelineKeeper:
    """For the API server, and beside the checkpoints, where there are any: there it has all its points."""
    keeps, before = {"the timeline for the API server": reporter.keep_timeline}, reporter.timeline_before
    if folder is None:
        return TimelineKeeper(fleet, keeps, every_seconds=TIMELINE_SECONDS, before=before)
    return keeper_in(folder.files, fleet, every_seconds=TIMELINE_SECONDS, also=keeps, before=before)


def _checkpoint_folder(fleet: CollectorFleet, settings: DriverSettings) -> CheckpointFolder | None:
    """The fleet's own folder in what is mounted: a fleet that is made again under its name goes on from there."""
    if settings.checkpoints is None:
        return None
    name = fleet.metadata.name
    return CheckpointFolder(settings.checkpoints / name, fleet=name, run=settings.uid)


def _history(fleet: CollectorFleet, settings: DriverSettings, folder: CheckpointFolder | None) -> RunHistory:
    """By the fleet's status, and by its checkpoints."""
    before = last_report(fleet)
    reported, drivers = Position.of_report(before), (before and before.driver_incarnation) or 0
    if folder is None:
        return RunHistory(settings.uid, drivers=drivers, records=(reported,))
    return folder.history(reported, drivers=drivers)


def _gpu_per_collector(spec: CollectorFleetSpec) -> dict[str, float]:
    """GPUs of one collector of each group, as worker pods were sized for."""
    groups = {name: spec.of_group(name) for name in spec.group_names}
    return {name: round(own.collectors.resources.gpu, 4) for name, own in groups.items()}  # Ray's resolution


def _set_torch_threads(spec: CollectorFleetSpec) -> None:
    """As many threads as the pod asks CPUs for: torch would start one for each core of the node."""
    if "OMP_NUM_THREADS" not in os.environ:
        import torch

        torch.set_num_threads(whole_cpus(spec.driver.resources.cpu))


def _announce(ended: Exit) -> None:
    """The end in the log, and for the operator in the pod's termination message."""
    match ended:
        case Completed(message):
            log.info("completed: %s", message)
        case Stopped(message):
            log.warning(message)
        case UserError(message, traceback) | Broken(message, traceback):
            log.error("failed: %s", message, extra={EXCEPTION: traceback})
    if TERMINATION_LOG.exists():  # not outside of a pod
        TERMINATION_LOG.write_text(termination_message(ended))
