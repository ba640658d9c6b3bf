"""One run of one fleet: the same in a driver pod and on a laptop.

:func:`open_session` turns the spec into a :class:`~collectorfleet.FleetCollector` around the user's policy;
:meth:`Session.execute` calls the training function or writes batches out; :meth:`Session.report` says what is true
meanwhile, to any thread that asks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from tensordict import TensorDictBase
from torch import nn

from collectorfleet.errors import CollectorFleetError, InvalidOption, UserCodeError
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.collector_options import collector_options
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.milestones import Milestone, log_milestone
from collectorfleet.run.output.formats import open_writer
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.own_code import OwnCode, TrainingFunction, build
from collectorfleet.run.position import Position
from collectorfleet.run.resume import Beginning, beginning
from collectorfleet.run.stop import StopRequest
from collectorfleet.run.torch_options import torch_options
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport, Progress

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 10
INCARNATIONS_PER_DRIVER: Final = 2**20
EVERY_SECONDS: Final = 60  # between checkpoints of a local run whose manifest has none
_POLICY: Final = "policy"
_END: Final = object()


class Session:
    """A collector with the user's work on it."""

    def __init__(
        self,
        code: OwnCode,
        collector: FleetCollector,
        run: Run,
        writer: OutputWriter | None,
        begun: Beginning,
        checkpoints: Checkpointer | None,
    ) -> None:
        self._code = code
        self.collector = collector
        self._run = run
        self._writer = writer
        self.began = begun.sentence
        self._frames_lost = begun.position.frames_lost
        self._checkpoints = checkpoints

    def report(self) -> DriverReport:
        """What is true now. Any thread may ask, also after the end."""
        report = self.collector.status()
        own = {"metrics": dict(self._run.metrics), "frames_lost": self._frames_lost}
        progress = (report.progress or Progress()).model_copy(update=own)
        checkpoint = self._checkpoints.status if self._checkpoints else None
        return report.model_copy(update={"progress": progress, "checkpoint": checkpoint})

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        """Block until something turned that a reader wants to know at once; see FleetCollector.wait_for_change."""
        return self.collector.wait_for_change(seen, timeout_seconds)

    def resize(self, replicas: int, min_available: int) -> None:
        """Run ``replicas`` collectors from now on, of which ``min_available`` are enough."""
        self.collector.resize(replicas, min_available)

    def execute(self) -> Completed:
        """Train, or gather into the output; blocks until that is done, or until the run was asked to stop.

        Raises UserCodeError when the user's code raises, another CollectorFleetError when the fleet cannot go on.
        """
        ended = self._work()
        if self._checkpoints:
            self._checkpoints.now(completed=not self._run.stop_requested)
        return ended

    def _work(self) -> Completed:
        if self._code.train is not None:
            return self._train(self._code.train)
        if self._writer is not None:
            return self._gather(self._writer)
        raise InvalidOption("spec: neither driver.train nor output says what to do with the batches")

    def _gather(self, writer: OutputWriter) -> Completed:
        try:
            for batch in self.collector:
                writer.write(batch)
        finally:
            # Also when the fleet failed or was stopped: what was collected is worth keeping.
            writer.flush()
        return Completed(writer.done)

    def _train(self, train: TrainingFunction) -> Completed:
        try:
            train.function(self.collector, self._run, **train.kwargs)
        except CollectorFleetError:
            raise
        except Exception as error:
            raise UserCodeError.of(f"train {train.path}", error) from error
        except SystemExit as error:
            # A script's habit. Code 0 and None mean that it is done.
            if error.code:
                raise UserCodeError.of(f"train {train.path}", error) from error
        progress = self.collector.status().progress or Progress()
        done = f"{progress.frames_delivered} frames in {progress.batches} batches"
        return Completed(f"{train.path} returned after {done}")


@contextmanager
def open_session(
    fleet: CollectorFleet,
    code: OwnCode,
    stop: StopRequest,
    *,
    gpu_per_collector: float,
    run_id: str,
    folder: CheckpointFolder | None = None,
    before: Position | None = None,
    starts: int = 0,
) -> Iterator[Session]:
    """The session of ``fleet`` on the Ray that this process is connected to; its collectors end with it.

    ``run_id`` names the run in the output's manifest: a restarted driver has the same one. ``folder`` keeps the run's
    checkpoints. By the status, ``before`` is how far the driver before this one was, ``starts`` how many there were.
    """
    spec = fleet.spec
    writer = None
    if spec.output is not None and spec.driver.train is None:
        writer = open_writer(spec.output, fleet=fleet.metadata.name, run_id=folder.run if folder else run_id)
    records = [*([before] if before else []), *([folder.journal.found] if folder else [])]
    begun = beginning(
        folder.newest if folder else None, writer.position if writer else None, records, spec.collection.total_frames
    )
    if begun.sentence:
        log.warning(begun.sentence)
    checkpoints = _checkpoints(fleet, code, folder, begun.position) if folder else None
    options = collector_options(spec, gpu_per_collector)
    if spec.replay_buffer is not None:
        # Not in the user's other code, which is built before there is a Ray.
        options["replay_buffer"] = build("replayBuffer", spec.replay_buffer)
    collector = _StoppableCollector(
        stop,
        checkpoints,
        policy=code.policy,
        resume_from={
            "frames": begun.position.frames,
            "batches": begun.position.batches,
            "version": begun.position.version,
            # No two incarnations of collectors, of whichever driver, play the same episodes or number them alike.
            "incarnations": (folder.starts if folder else starts) * INCARNATIONS_PER_DRIVER,
        },
        **options,
        **torch_options(spec),
        **code.built,
    )
    if spec.collectors.replicas != options["num_collectors"]:
        collector.resize(spec.collectors.replicas)
    if checkpoints:
        checkpoints.follow(lambda: Position.reached(collector.counters(), begun.position.frames_lost))
    log_milestone(Milestone.CONSTRUCTED)
    try:
        yield Session(code, collector, Run(stop.requested, checkpoints), writer, begun, checkpoints)
    finally:
        stop.run_ended()
        collector.shutdown(timeout=SHUTDOWN_SECONDS, raise_on_error=False)


def _checkpoints(fleet: CollectorFleet, code: OwnCode, folder: CheckpointFolder, position: Position) -> Checkpointer:
    """The checkpoints of a run that begins at ``position``; policy and models are put back by then."""
    asked = fleet.spec.driver.checkpoint
    state = TrainingState(folder.newest.state_file if folder.newest else None)
    modules = {_POLICY: code.policy, **{f"model {path}": model for path, model in code.built.get("models", {}).items()}}
    for name, module in modules.items():
        if isinstance(module, nn.Module):
            state.keep({name: module})
    return Checkpointer(folder, state, position, timedelta(seconds=asked.every_seconds if asked else EVERY_SECONDS))


class _StoppableCollector(FleetCollector):
    """A collector whose iteration ends when the run is asked to stop, and whose run goes into checkpoints."""

    def __init__(self, stop: StopRequest, checkpoints: Checkpointer | None, **options: Any) -> None:
        self._stop = stop
        self._checkpoints = checkpoints
        super().__init__(**options)

    def iterator(self) -> Iterator[TensorDictBase | None]:
        batches = super().iterator()
        first = True
        while not self._stop.requested():
            # The last batch is worked off, or the next one would not be asked for.
            if self._checkpoints:
                self._checkpoints.when_due()
            batch = self._next(batches)
            if batch is _END:
                return
            if self._checkpoints:
                self._checkpoints.mark()
            if first:
                log_milestone(Milestone.FIRST_BATCH)
                first = False
            # Handed over, not kept: a buffer is used again only once nobody refers to it.
            held = [batch]
            del batch
            yield held.pop()
        if self._checkpoints:
            self._checkpoints.now()

    def update_policy_weights_(self, *args: Any, **kwargs: Any) -> Any:
        if self._checkpoints:
            self._checkpoints.mark()
        return super().update_policy_weights_(*args, **kwargs)

    def _next(self, batches: Iterator[Any]) -> Any:
        try:
            return next(batches, _END)
        except UserCodeError:
            raise
        except CollectorFleetError:
            # The fleet is lost, what was learned is not.
            if self._checkpoints:
                self._checkpoints.now()
            raise
