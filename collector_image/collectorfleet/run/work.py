"""Use the batches of a run: train on them, or write them out. Each function blocks the main thread until the end."""

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
from collectorfleet.run.driver_code import Script, TrainingFunction
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.position import Position
from collectorfleet.transport.ray.replay_buffer import loss_of
from collectorfleet_api.counts import counted
from collectorfleet_api.v1alpha1 import Progress


def train(training: TrainingFunction, collector: FleetCollector, run: Run) -> Completed:
    """Call the training function.

    Raises UserCodeError if the function raises. A CollectorFleetError of the function is raised unchanged. Raises
    ReplayBufferLost if the replay buffer of the collector is lost, and InfrastructureError if another actor, such as a
    learner, is lost.
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
        # The function may call sys.exit, as scripts do. Code 0 and None mean success.
        if error.code:
            raise UserCodeError.of(f"train {training.path}", error) from error
    progress = collector.status().progress or Progress()
    done = f"{counted(progress.frames_delivered, 'frame')} in {counted(progress.batches, 'batch', 'batches')}"
    return Completed(f"{training.path} returned after {done}")


def learn(collector: FleetCollector, run: Run, batch_size: int) -> Completed:
    """After each batch until the end, let each policy of ``run.learners`` learn once, and publish changed policies.

    Raises UserCodeError if a learner raises, and another CollectorFleetError if a learner is lost permanently.
    """
    learners = run.learners
    for _ in collector:
        run.report(**learners.learn(batch_size))
        learners.feed.publish(collector)
    progress = collector.status().progress or Progress()
    done = f"{counted(progress.frames_delivered, 'frame')} in {counted(progress.batches, 'batch', 'batches')}"
    return Completed(f"{counted(len(learners.shards), 'policy', 'policies')} learned from {done}")


def run_script(
    script: Script, collector: type[FleetCollector], run: Run, position: Callable[[], Position]
) -> Completed:
    """Run a program in this process, as ``python FILE ARGUMENTS`` would.

    The program gets ``collector`` as FleetCollector, and ``run`` from :func:`collectorfleet.current_run`.

    Raises UserCodeError if the program raises, exits with an error or collects no batch. A CollectorFleetError of the
    program is raised unchanged.
    """
    where = f"script {script.name}"
    with _as_program(script), as_current(run), _as_fleet_collector(collector):
        try:
            # cloudpickle sends functions and classes of `__main__` to collectors by value, not by import.
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
            "it ended without a batch; create a collectorfleet.FleetCollector, and iterate over its batches",
        )
    done = f"{counted(reached.frames, 'frame')} in {counted(reached.batches, 'batch', 'batches')}"
    return Completed(f"{script.name} ended after {done}")


@contextmanager
def _as_program(script: Script) -> Iterator[None]:
    """Set ``sys.argv`` and the first entry of ``sys.path`` as Python sets them for a program."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(script.file), *script.arguments]
    sys.path.insert(0, str(script.file.parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


@contextmanager
def _as_fleet_collector(made: type[FleetCollector]) -> Iterator[None]:
    """Let ``from collectorfleet import FleetCollector`` return ``made``, in the script and in its modules."""
    collectorfleet.FleetCollector = made  # type: ignore[misc]
    try:
        yield
    finally:
        del collectorfleet.FleetCollector  # __getattr__ of the package returns the original again


def write_out(batches: Iterable[TensorDictBase], writer: OutputWriter) -> Completed:
    """Write all batches to the output."""
    try:
        for batch in batches:
            writer.write(batch)
    finally:
        # Flush also after a failure or a stop. Otherwise the collected frames would be lost.
        writer.flush()
    return Completed(writer.summary)
