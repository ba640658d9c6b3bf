"""One run of one fleet: the same in a driver pod and on a laptop.

:func:`open_session` turns the spec into a collector around the user's policy; :meth:`Session.execute` calls the
training function or writes batches out; :meth:`Session.report` says what is true meanwhile, to any thread that asks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final

from torch import nn

from collectorfleet.errors import InvalidOption
from collectorfleet.run.batch_boundary import BatchBoundary
from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.interface import Checkpoints, NoCheckpoints
from collectorfleet.run.checkpoint.kept_normalization import NAME, KeptNormalization
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.collector_options import collector_options
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.history import RunHistory
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.output.formats import open_writer
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.own_code import OwnCode, built_options
from collectorfleet.run.resume_point import ResumePoint, resume_point
from collectorfleet.run.run_collector import RunCollector
from collectorfleet.run.stop import StopRequest
from collectorfleet.run.work import train, write_out
from collectorfleet_api.v1alpha1 import CollectorFleet, CollectorFleetSpec, DriverReport, Progress

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 10
INCARNATIONS_PER_DRIVER: Final = 2**20
EVERY_SECONDS: Final = 60  # between checkpoints of a local run whose manifest has none


class Session:
    """A collector with the user's work on it."""

    def __init__(
        self,
        collector: RunCollector,
        run: Run,
        work: Callable[[], Completed],
        checkpoints: Checkpoints,
        resume_point: ResumePoint,
    ) -> None:
        self.resume_point = resume_point
        self._collector = collector
        self._run = run
        self._work = work
        self._checkpoints = checkpoints

    def report(self) -> DriverReport:
        """What is true now. Any thread may ask, also after the end."""
        report = self._collector.status()
        own = {
            "metrics": dict(self._run.metrics),
            "frames_lost": self.resume_point.position.frames_lost,
            "replay_buffer_frames_lost": self.resume_point.buffer_frames_lost,
        }
        progress = (report.progress or Progress()).model_copy(update=own)
        return report.model_copy(update={"progress": progress, "checkpoint": self._checkpoints.status})

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        """Block until something turned that a reader wants to know at once; see FleetCollector.wait_for_change."""
        return self._collector.wait_for_change(seen, timeout_seconds)

    def resize(self, replicas: int, min_available: int) -> None:
        """Run ``replicas`` collectors from now on, of which ``min_available`` are enough."""
        self._collector.resize(replicas, min_available)

    def drain_pods(self, pods: Collection[str]) -> None:
        """Take the collectors off these pods, which are to be replaced; see FleetCollector.drain_pods."""
        self._collector.drain_pods(pods)

    def execute(self) -> Completed:
        """Train, or gather into the output; blocks until that is done, or until the run was asked to stop.

        Raises UserCodeError when the user's code raises, another CollectorFleetError when the fleet cannot go on.
        """
        done = self._work()
        self._checkpoints.write(self._collector.position(), completed=not self._run.stop_requested)
        return done


@contextmanager
def open_session(
    fleet: CollectorFleet,
    code: OwnCode,
    stop: StopRequest,
    history: RunHistory,
    folder: CheckpointFolder | None,
    *,
    gpu_per_collector: float,
) -> Iterator[Session]:
    """The session of ``fleet`` on the Ray that this process is connected to; its collectors end with it.

    The run goes on from what ``history`` has, and keeps its checkpoints in ``folder``, if there is one.
    """
    writer = _writer(fleet, history.run_id)
    resume = resume_point(
        history,
        writer.position if writer else None,
        fleet.spec.collection.total_frames,
        buffer_begins_empty=_buffer_begins_empty(fleet.spec, history.checkpoint),
    )
    if resume.sentence:
        log.warning(resume.sentence)
    checkpoints: Checkpoints = NoCheckpoints()
    normalization = KeptNormalization()
    if folder:
        state = _training_state(code, normalization, history.checkpoint)
        checkpoints = Checkpointer(folder, state, _checkpoint_interval(fleet))
    # Before the collector, whose first version is one more.
    checkpoints.note(resume.position)
    boundary = BatchBoundary(stop, checkpoints)
    built = built_options(fleet.spec, on_ray=True)
    if fleet.spec.replay_buffer is not None and fleet.spec.replay_buffer.checkpoint:
        checkpoints.keep_buffer(built["replay_buffer"])
    everything = code.built | built
    collector = _collector(fleet, everything, boundary, resume, normalization.saved, history.drivers, gpu_per_collector)
    normalization.follow(collector.normalization)
    run = Run(stop.requested, checkpoints.keep, lambda: checkpoints.write(collector.position()))
    log_milestone(Milestone.CONSTRUCTED)
    try:
        yield Session(collector, run, _work(code, writer, collector, run), checkpoints, resume)
    finally:
        stop.run_ended()
        collector.shutdown(timeout=SHUTDOWN_SECONDS, raise_on_error=False)


def _writer(fleet: CollectorFleet, run_id: str) -> OutputWriter | None:
    """None where a training function takes the batches."""
    output = fleet.spec.output
    if output is None or fleet.spec.driver.train is not None:
        return None
    return open_writer(output, fleet=fleet.metadata.name, run_id=run_id)


def _buffer_begins_empty(spec: CollectorFleetSpec, checkpoint: Checkpoint | None) -> bool:
    if spec.replay_buffer is None:
        return False
    return not (spec.replay_buffer.checkpoint and checkpoint is not None and checkpoint.replay_buffer is not None)


def _training_state(code: OwnCode, normalization: KeptNormalization, checkpoint: Checkpoint | None) -> TrainingState:
    """With the policy, the models and the normalization in it, which are as they were at the checkpoint by then."""
    state = TrainingState(checkpoint.state_file if checkpoint else None)
    state.keep({NAME: normalization})
    for name, module in code.modules.items():
        if isinstance(module, nn.Module):
            state.keep({name: module})
    return state


def _checkpoint_interval(fleet: CollectorFleet) -> timedelta:
    asked = fleet.spec.driver.checkpoint
    return timedelta(seconds=asked.every_seconds if asked else EVERY_SECONDS)


def _collector(
    fleet: CollectorFleet,
    built: dict[str, Any],
    boundary: BatchBoundary,
    resume: ResumePoint,
    normalization: Mapping[str, Any],
    drivers_before: int,
    gpu_per_collector: float,
) -> RunCollector:
    spec, position = fleet.spec, resume.position
    options: dict[str, Any] = collector_options(spec, gpu_per_collector)
    resume_from = {
        "frames": position.frames,
        "batches": position.batches,
        "version": position.version,
        # No two incarnations of collectors, of whichever driver, play the same episodes or number them alike.
        "incarnations": drivers_before * INCARNATIONS_PER_DRIVER,
        "normalization": normalization,
    }
    collector = RunCollector(
        boundary,
        position.frames_lost,
        resume_from=resume_from,
        **options,
        **built,
    )
    if spec.collectors.replicas != options["num_collectors"]:
        collector.resize(spec.collectors.replicas)
    return collector


def _work(code: OwnCode, writer: OutputWriter | None, collector: RunCollector, run: Run) -> Callable[[], Completed]:
    if code.train is not None:
        return partial(train, code.train, collector, run)
    if writer is not None:
        return partial(write_out, collector, writer)
    raise InvalidOption("spec: neither driver.train nor output says what to do with the batches")
