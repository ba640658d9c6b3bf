"""What a run does with its batches: train on them, or write them out. On the driver's main thread, to the end."""

from __future__ import annotations

from collections.abc import Iterable

from tensordict import TensorDictBase

from collectorfleet.errors import CollectorFleetError, UserCodeError
from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.own_code import TrainingFunction
from collectorfleet.transport.ray.replay_buffer import loss_of
from collectorfleet_api.v1alpha1 import Progress


def train(training: TrainingFunction, collector: FleetCollector, run: Run) -> Completed:
    """Call the training function.

    Raises UserCodeError when it raises, another CollectorFleetError as it is; ReplayBufferLost when it raises because
    the replay buffer is lost, which it samples from.
    """
    try:
        training.function(collector, run, **training.kwargs)
    except CollectorFleetError:
        raise
    except Exception as error:
        lost = None if collector.replay_buffer is None else loss_of(collector.replay_buffer)
        raise lost or UserCodeError.of(f"train {training.path}", error) from error
    except SystemExit as error:
        # A script's habit. Code 0 and None mean that it is done.
        if error.code:
            raise UserCodeError.of(f"train {training.path}", error) from error
    progress = collector.status().progress or Progress()
    done = f"{progress.frames_delivered} frames in {progress.batches} batches"
    return Completed(f"{training.path} returned after {done}")


def write_out(batches: Iterable[TensorDictBase], writer: OutputWriter) -> Completed:
    """Write batches until there are no more."""
    try:
        for batch in batches:
            writer.write(batch)
    finally:
        # Also when the fleet failed or was stopped: what was collected is worth keeping.
        writer.flush()
    return Completed(writer.summary)
