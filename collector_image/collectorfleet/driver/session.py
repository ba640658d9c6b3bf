"""One run of one fleet: the same in a driver pod and on a laptop.

:func:`open_session` turns the spec into a :class:`~collectorfleet.FleetCollector` around the user's policy;
:meth:`Session.execute` calls the training function or writes batches out; :meth:`Session.report` says what is true
meanwhile, to any thread that asks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tensordict import TensorDictBase

from collectorfleet.collector import FleetCollector
from collectorfleet.driver.collector_options import collector_options
from collectorfleet.driver.ending import Finished
from collectorfleet.driver.output import RolloutWriter
from collectorfleet.driver.own_code import OwnCode, TrainingFunction
from collectorfleet.driver.phases import Phase, mark
from collectorfleet.driver.run import Run
from collectorfleet.driver.stop import StopRequest
from collectorfleet.errors import CollectorFleetError, InvalidOption, UserCodeError
from collectorfleet_api.v1alpha1 import CollectorFleet, DriverReport, Progress

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 10


class Session:
    """A collector with the user's work on it."""

    def __init__(self, code: OwnCode, collector: FleetCollector, run: Run, writer: RolloutWriter | None) -> None:
        self._code = code
        self.collector = collector
        self._run = run
        self._writer = writer

    def report(self) -> DriverReport:
        """What is true now. Any thread may ask, also after the end."""
        report = self.collector.status()
        progress = (report.progress or Progress()).model_copy(update={"metrics": dict(self._run.metrics)})
        return report.model_copy(update={"progress": progress})

    def wait_for_change(self, seen: int, timeout_seconds: float) -> int:
        """Block until something turned that a reader wants to know at once; see FleetCollector.wait_for_change."""
        return self.collector.wait_for_change(seen, timeout_seconds)

    def resize(self, replicas: int) -> None:
        """Run ``replicas`` collectors from now on."""
        self.collector.resize(replicas)

    def execute(self) -> Finished:
        """Train, or gather into the output; blocks until that is done, or until the run was asked to stop.

        Raises UserCodeError when the user's code raises, another CollectorFleetError when the fleet cannot go on.
        """
        if self._code.train is not None:
            return self._train(self._code.train)
        if self._writer is not None:
            return self._gather(self._writer)
        raise InvalidOption("spec: neither driver.train nor output says what to do with the batches")

    def _gather(self, writer: RolloutWriter) -> Finished:
        try:
            for batch in self.collector:
                writer.write(batch)
        finally:
            # Also when the fleet failed or was stopped: what was collected is worth keeping.
            writer.flush()
        return Finished(f"{writer.frames} frames in {writer.shards} shards are in {writer.folder}")

    def _train(self, train: TrainingFunction) -> Finished:
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
        return Finished(f"{train.path} returned after {done}")


@contextmanager
def open_session(
    fleet: CollectorFleet, code: OwnCode, stop: StopRequest, *, gpu_per_collector: float, run_id: str
) -> Iterator[Session]:
    """The session of ``fleet`` on the Ray that this process is connected to; its collectors end with it.

    ``run_id`` names the run in the output's manifest: a restarted driver has the same one.
    """
    spec = fleet.spec
    run = Run(stop.requested)
    writer = None
    if spec.output is not None and spec.driver.train is None:
        writer = RolloutWriter(spec.output.path, fleet=fleet.metadata.name, run_id=run_id)
    collector = _StoppableCollector(
        stop,
        policy=code.policy,
        **collector_options(spec, gpu_per_collector, frames_written=writer.frames if writer else 0),
    )
    mark(Phase.CONSTRUCTED)
    try:
        yield Session(code, collector, run, writer)
    finally:
        stop.over()
        collector.shutdown(timeout=SHUTDOWN_SECONDS, raise_on_error=False)


class _StoppableCollector(FleetCollector):
    """A collector whose iteration ends when the run is asked to stop."""

    def __init__(self, stop: StopRequest, **options: Any) -> None:
        self._stop = stop
        super().__init__(**options)

    def iterator(self) -> Iterator[TensorDictBase]:
        batches = super().iterator()
        first = True
        while not self._stop.requested():
            batch = next(batches, None)
            if batch is None:
                return
            if first:
                mark(Phase.FIRST_BATCH)
                first = False
            # Handed over, not kept: a buffer is used again only once nobody refers to it.
            held = [batch]
            del batch
            yield held.pop()
