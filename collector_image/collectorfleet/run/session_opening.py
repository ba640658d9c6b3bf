"""Open the session of a fleet: create its collector, its learners and its output, and set its work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.collector_options import GpuPerCollector, collector_options
from collectorfleet.run.collector_setup import CollectorSetup
from collectorfleet.run.driver_code import DriverCode, built_options
from collectorfleet.run.handle import Run
from collectorfleet.run.history import RunHistory
from collectorfleet.run.log.opening import open_run_log
from collectorfleet.run.output.formats import open_writer
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.output.postproc import checked
from collectorfleet.run.run_collector import RunCollector
from collectorfleet.run.script_collector import ScriptCollectors
from collectorfleet.run.session import Session
from collectorfleet.run.spec_learners.run_learners import RunLearners, open_learners
from collectorfleet.run.stop import StopRequest
from collectorfleet.run.video_folder import VideoFolder
from collectorfleet.run.work import learn, run_script, train, write_out
from collectorfleet.transport.distributed.launcher import Launcher
from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetSpec, DriverReport

log = logging.getLogger(__name__)


@contextmanager
def open_session(
    fleet: CollectorFleet,
    code: DriverCode,
    stop: StopRequest,
    history: RunHistory,
    folder: CheckpointFolder | None,
    *,
    gpu_per_collector: GpuPerCollector,
    learners_on_gpus: bool = True,
    evaluators_on_gpus: bool = True,
    starting: DriverReport,
    say: Callable[[str], None] = log.warning,
    launcher: Launcher | None = None,
    videos: Path | None = None,
) -> Iterator[Session]:
    """Yield the session of ``fleet``. Its collectors end with the ``with`` block.

    Collectors run on the Ray cluster of this process, or in processes of ``launcher``. The run resumes from
    ``history``, and ``say`` is called with a sentence that describes the resume point. Checkpoints are written to
    ``folder``, unless it is None. ``learners_on_gpus`` and ``evaluators_on_gpus`` are False if the machine lacks the
    GPUs in the spec. ``starting`` is the report until there is a collector. ``videos`` is the folder for videos of
    episodes.
    """
    making = CollectorSetup(fleet.spec, stop, history, folder, say)
    options = collector_options(fleet.spec, gpu_per_collector, evaluators_on_gpus=evaluators_on_gpus)
    if launcher is not None:
        options["launcher"] = launcher
    run = Run(
        stop.requested,
        making.checkpoints.keep,
        lambda: making.checkpoints.write(session.position()),
        lambda metrics: run_log.add(metrics, session.position().frames),
    )
    session = Session(making, run, starting, stop)
    # The writer opens the output before other files exist, because videos and files of loggers may be in the output's
    # folder.
    writer = _writer(fleet, history.run_id)
    video_files = None if videos is None else VideoFolder(videos)
    run_log = open_run_log(fleet, session.report, video_files)
    session.set_video_log(run_log, video_files)
    with run_log, _open(session, stop):
        if code.script is None:
            learners = None
            if code.learners is not None:
                learners = partial(open_learners, fleet.spec, code.learners, folder=folder, on_gpus=learners_on_gpus)
            with stop.interruptible():  # learners may wait long for resources that other pods use
                _begin_with_collector(session, fleet, code, making, run, history, options, learners, writer)
        else:
            built = code.built | built_options(fleet.spec, on_ray=True)
            collectors = ScriptCollectors(fleet.spec, built, making, options, session.begin)
            session.set_work(partial(run_script, code.script, collectors.type(), run, session.position))
        yield session


@contextmanager
def _open(session: Session, stop: StopRequest) -> Iterator[None]:
    try:
        yield
    finally:
        stop.run_ended()
        session.close()


def _begin_with_collector(
    session: Session,
    fleet: CollectorFleet,
    code: DriverCode,
    making: CollectorSetup,
    run: Run,
    history: RunHistory,
    options: dict[str, Any],
    open_learners: Callable[[Any], RunLearners] | None,
    writer: OutputWriter | None,
) -> None:
    """Create the collector of the manifest, and set the work that uses the collector's batches.

    ``open_learners(policy)`` starts the learners of ``spec.learners`` for ``policy``.
    """
    spec = fleet.spec
    making.restore(code.built)
    resume = making.resume_point(
        writer.position if writer else None,
        spec.collection.total_frames,
        buffer_begins_empty=_buffer_begins_empty(spec, history.checkpoint),
    )
    built = built_options(spec, on_ray=True)
    if spec.replay_buffer is not None and spec.replay_buffer.checkpoint:
        making.checkpoints.keep_buffer(built["replay_buffer"])
    learners = None
    if open_learners is not None:
        learners = open_learners(code.built["policy"])
        session.set_learners(learners)
        if learners.shards.dropped_frames:
            resume = making.without_frames_of_learners(resume)
        built["replay_buffer"] = learners.feed.replay_buffer
        making.keep_learners(learners, resume.position)
    in_driver = dict(code.built)
    if writer is not None and "postproc" in in_driver:
        in_driver["postproc"] = checked(in_driver["postproc"])
    collector = RunCollector(
        making.boundary,
        resume.position.frames_lost,
        resume_from=making.resume_from(resume.position),
        **options,
        **in_driver,
        **built,
    )
    making.made(collector, spec.collectors.replicas)
    if learners is not None:
        making.boundary.call_between_batches(partial(learners.update_status, collector))
    session.begin(collector, resume)
    if code.train is not None:
        session.set_work(partial(train, code.train, collector, run))
    elif spec.learners is not None:
        session.set_work(partial(learn, collector, run, spec.learners.batch_size))
    elif writer is not None:
        session.set_work(partial(write_out, collector, writer))


def _writer(fleet: CollectorFleet, run_id: str) -> OutputWriter | None:
    """Open the output. Return None if there is no output, or if a training function takes the batches."""
    output = fleet.spec.output
    if output is None or fleet.spec.driver.train is not None:
        return None
    return open_writer(output, fleet=fleet.metadata.name, run_id=run_id)


def _buffer_begins_empty(spec: CollectorFleetSpec, checkpoint: Checkpoint | None) -> bool:
    if spec.replay_buffer is None:
        return False  # the checkpoint of learners includes their frames, and the shards know whether these fit
    return not (spec.replay_buffer.checkpoint and checkpoint is not None and checkpoint.replay_buffer is not None)
