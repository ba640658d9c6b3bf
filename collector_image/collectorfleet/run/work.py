"""What a run does with its batches: train on them, or write them out. On the driver's main thread, to the end."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ray.exceptions import RayActorError
from tensordict import TensorDictBase

import collectorfleet
from collectorfleet.errors import CollectorFleetError, InfrastructureError, UserCodeError
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.run.current import as_current
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.own_code import Script, TrainingFunction
from collectorfleet.run.position import Position
from collectorfleet.transport.ray.replay_buffer import loss_of
from collectorfleet_api.v1alpha1 import Progress


def train(training: TrainingFunction, collector: FleetCollector, run: Run) -> Completed:
    """Call the training function.

    Raises UserCodeError when it raises, and passes another CollectorFleetError on. Raises ReplayBufferLost if it raises
    because the replay buffer that it samples from is lost. Raises InfrastructureError if another actor is lost, such as
    a learner.
    """
    try:
        training.function(collector, run, **training.kwargs)
    except CollectorFleetError:
        raise
    except Exception as error:
        lost: CollectorFleetError | None = None
        if collector.replay_buffer is not None:
            lost = loss_of(collector.replay_buffer)
        if lost is None and isinstance(error, RayActorError):
            lost = InfrastructureError.of(f"train {training.path}", error)
        raise lost or UserCodeError.of(f"train {training.path}", error) from error
    except SystemExit as error:
        # A script's habit. Code 0 and None mean that it is done.
        if error.code:
            raise UserCodeError.of(f"train {training.path}", error) from error
    progress = collector.status().progress or Progress()
    done = f"{progress.frames_delivered} frames in {progress.batches} batches"
    return Completed(f"{training.path} returned after {done}")


def learn(collector: FleetCollector, run: Run, batch_size: int) -> Completed:
    """Have every policy of ``run.learners`` learn once after each batch, and publish those that changed, to the end.

    Raises UserCodeError when a learner raises, another CollectorFleetError when one is lost for good.
    """
    learners = run.learners
    for _ in collector:
        run.report(**learners.learn(batch_size))
        learners.feed.publish(collector)
    progress = collector.status().progress or Progress()
    done = f"{progress.frames_delivered} frames in {progress.batches} batches"
    return Completed(f"{len(learners.shards)} policies learned from {done}")


def run_script(
    script: Script, collector: type[FleetCollector], run: Run, position: Callable[[], Position]
) -> Completed:
    """Run a program as ``python FILE ARGUMENTS`` would, in this process.

    ``collector`` is its FleetCollector, and ``run`` its :func:`collectorfleet.current_run`.

    Raises UserCodeError when it raises, exits with an error or collects nothing, another CollectorFleetError as it is.
    """
    where = f"script {script.name}"
    with _as_program(script), as_current(run), _as_fleet_collector(collector):
        try:
            # Under this name functions and classes of the script travel to collectors as they are, not by import.
            runpy.run_path(str(script.file), run_name="__main__")
        except CollectorFleetError:
            raise
        except Exception as error:
            raise UserCodeError.of(where, error) from error
        except SystemExit as error:
            if error.code:
                raise UserCodeError.of(where, error) from error
    reached = position()
    if not reached.batches:
        raise UserCodeError(
            where,
            "it ended without a batch; make a collectorfleet.FleetCollector, which has the fleet's "
            "collectors, and iterate over it",
        )
    return Completed(f"{script.name} ended after {reached.frames} frames in {reached.batches} batches")


@contextmanager
def _as_program(script: Script) -> Iterator[None]:
    """The arguments and the first folder of imports that Python gives a program."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(script.file), *script.arguments]
    sys.path.insert(0, str(script.file.parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


@contextmanager
def _as_fleet_collector(made: type[FleetCollector]) -> Iterator[None]:
    """``from collectorfleet import FleetCollector`` is that one, wherever the script and its modules say it."""
    collectorfleet.FleetCollector = made  # type: ignore[misc]
    try:
        yield
    finally:
        del collectorfleet.FleetCollector  # found by import again


def write_out(batches: Iterable[TensorDictBase], writer: OutputWriter) -> Completed:
    """Write batches until there are no more."""
    try:
        for batch in batches:
            writer.write(batch)
    finally:
        # Also when the fleet failed or was stopped: what was collected is worth keeping.
        writer.flush()
    return Completed(writer.summary)
