"""Implement ``collectorfleet drive``, which the operator starts in the driver pod.

The slow steps of the start run in parallel. The main thread imports torch. A second thread waits for the Ray head and
joins the Ray cluster. A third thread reads the fleet and acquires the Lease.
"""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from typing import Final

from collectorfleet.display.lines import ProgressLines
from collectorfleet.imports import without_garbage_collection
from collectorfleet.pod.early_stop import driver_has_begun
from collectorfleet.pod.hosts import hosts_of
from collectorfleet.pod.process_exit import os_exit_as_failure
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
    """Run the fleet to its end, and return the exit code. Call it on the main thread."""
    log_milestone(Milestone.PYTHON)
    stop = StopRequest(settings.grace_seconds)
    with stop_on_signals(stop), os_exit_as_failure():
        driver_has_begun()
        ended = supervise(lambda: _until_ray_is_told_to_end(settings, stop), stop)
    _announce(ended)
    return exit_code(ended)


def _until_ray_is_told_to_end(settings: DriverSettings, stop: StopRequest) -> Completed:
    """Run the fleet, and turn a SIGTERM that Ray handled into a request to stop.

    Ray replaces the handler of SIGTERM, and Ray's handler raises SystemExit.
    """
    try:
        return _drive(settings, stop)
    except SystemExit as ended:
        if ended.code == signal.SIGTERM:
            stop.request(StopReason(EndReason.SIGTERM, signal.SIGTERM.name))
        raise


def _drive(settings: DriverSettings, stop: StopRequest) -> Completed:
    with Reporter(settings, stop) as reporter, BackgroundMetrics(settings.name, reporter.report, METRICS_PORT):
        node = RayNode(settings.ray_address, stop) if settings.ray_address else None
        # These imports take seconds. Meanwhile, the other threads connect to the API server and to Ray.
        with stop.interruptible(), without_garbage_collection():
            from collectorfleet.run.driver_code import load_driver_code
            from collectorfleet.run.session_opening import open_session

        log_milestone(Milestone.IMPORTS)
        fleet = reporter.fleet()
        _set_torch_threads(fleet.spec)
        folder = _checkpoint_folder(fleet, settings)
        history = _history(fleet, settings, folder)
        enter_working_folder(Path(CODE_MOUNT))
        with stop.interruptible():
            code = load_driver_code(fleet.spec)
        gpus = _gpu_per_collector(fleet.spec)
        launcher = None if node else hosts_of(fleet, settings, gpus[WORKER_GROUP])
        if node:
            _join(node, settings.ray_address)
        with (
            stop_on_signals(stop),  # again, because Ray replaced the handler of SIGTERM
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
            recorded = timeline.of(session.report, session.evaluations)
            with recorded, ProgressLines(session.report, log.info, every_seconds=PROGRESS_SECONDS):
                completed = session.execute()
            timeline.end(f"completed: {completed.message}")
            return completed


def _join(node: RayNode, address: str) -> None:
    import ray

    node.wait_until_joined()
    ray.init(address=address, log_to_driver=True, logging_level=logging.WARNING)
    log_milestone(Milestone.RAY)


def _timeline_keeper(fleet: CollectorFleet, folder: CheckpointFolder | None, reporter: Reporter) -> TimelineKeeper:
    """Return the keeper, which writes the timeline to a ConfigMap of the API server.

    If the fleet has checkpoints, the keeper also writes a file beside them. The file also has the points that do not
    fit into the ConfigMap.
    """
    keeps, before = {"the timeline for the API server": reporter.keep_timeline}, reporter.timeline_before
    if folder is None:
        return TimelineKeeper(fleet, keeps, every_seconds=TIMELINE_SECONDS, before=before)
    return keeper_in(folder.files, fleet, every_seconds=TIMELINE_SECONDS, also=keeps, before=before)


def _checkpoint_folder(fleet: CollectorFleet, settings: DriverSettings) -> CheckpointFolder | None:
    """Return the fleet's folder in the mounted volume, or None for a fleet without checkpoints.

    A fleet that is deleted and created again under the same name resumes from this folder. Blocks and raises as
    :class:`CheckpointFolder` does.
    """
    if settings.checkpoints is None:
        return None
    name = fleet.metadata.name
    return CheckpointFolder(settings.checkpoints / name, fleet=name, run=settings.uid)


def _history(fleet: CollectorFleet, settings: DriverSettings, folder: CheckpointFolder | None) -> RunHistory:
    """Return the records that earlier drivers left in the fleet's status and its checkpoints."""
    before = last_report(fleet)
    reported, drivers = Position.of_report(before), (before and before.driver_incarnation) or 0
    if folder is None:
        return RunHistory(settings.uid, drivers=drivers, records=(reported,))
    return folder.history(reported, drivers=drivers)


def _gpu_per_collector(spec: CollectorFleetSpec) -> dict[str, float]:
    """Return the GPUs of one collector, keyed by the group's name. The operator sizes worker pods for these GPUs."""
    groups = {name: spec.of_group(name) for name in spec.group_names}
    return {name: round(own.collectors.resources.gpu, 4) for name, own in groups.items()}  # Ray's resolution


def _set_torch_threads(spec: CollectorFleetSpec) -> None:
    """Limit torch to the CPUs of the driver, unless ``OMP_NUM_THREADS`` is set.

    By default, torch starts one thread for each core of the node.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        import torch

        torch.set_num_threads(whole_cpus(spec.driver.resources.cpu))


def _announce(ended: Exit) -> None:
    """Log how the run ended, and write the pod's termination message, which the operator reads."""
    match ended:
        case Completed(message):
            log.info("completed: %s", message)
        case Stopped(message):
            log.warning(message)
        case UserError(message, traceback) | Broken(message, traceback):
            log.error("failed: %s", message, extra={EXCEPTION: traceback})
    if TERMINATION_LOG.exists():  # only in a pod
        TERMINATION_LOG.write_text(termination_message(ended))
