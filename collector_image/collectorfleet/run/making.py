"""What a run adds to its collector: where it goes on from, what is kept of it, and where its batches end.

The same for a collector that the manifest describes and for one that a script makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from torch import nn

from collectorfleet.run.batch_boundary import BatchBoundary
from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.interface import Checkpoints, NoCheckpoints
from collectorfleet.run.checkpoint.kept_from_collector import (
    EVALUATION,
    NORMALIZATION,
    PARAMETERS,
    KeptFromCollector,
)
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.endings import Way
from collectorfleet.run.history import RunHistory
from collectorfleet.run.own_code import modules_of
from collectorfleet.run.position import Position
from collectorfleet.run.resume_point import ResumePoint, resume_point
from collectorfleet.run.run_collector import RunCollector
from collectorfleet.run.spec_learners.run_learners import KeptParts, KeptVersions, RunLearners
from collectorfleet.run.stop import StopReason, StopRequest
from collectorfleet_api.v1alpha1 import CollectorFleetSpec

INCARNATIONS_PER_DRIVER: Final = 2**20
_POLICY: Final = "policy"
# In the training state; no name of the user's has a colon.
_LEARNERS: Final = "learners:versions"
EVERY_SECONDS: Final = 60  # between checkpoints of a local run whose manifest has none


class Making:
    """Of the one collector of a run. On the driver's main thread."""

    def __init__(
        self,
        spec: CollectorFleetSpec,
        stop: StopRequest,
        history: RunHistory,
        folder: CheckpointFolder | None,
        say: Callable[[str], None],
    ) -> None:
        """``say`` tells where the run goes on from. Raises UserCodeError where a checkpoint's state cannot be read."""
        self._say = say
        self._spec = spec
        self._history = history
        self._normalization = KeptFromCollector()
        self._evaluation = KeptFromCollector()
        self._parameters = KeptFromCollector()
        # Which driver has the checkpoints by now, in a sentence; empty if this one has.
        self.taken_over = ""
        self.checkpoints: Checkpoints = NoCheckpoints()
        if folder:
            checkpoint = history.checkpoint
            state = TrainingState(checkpoint.state_file if checkpoint else None)
            state.keep({NORMALIZATION: self._normalization})
            state.keep({EVALUATION: self._evaluation})
            state.keep({PARAMETERS: self._parameters})
            checkpointer = Checkpointer(folder, state, _interval(spec), partial(self._end, stop), stop.uninterrupted)
            stop.leave_time_for(checkpointer.seconds)
            self.checkpoints = checkpointer
        self.boundary = BatchBoundary(stop, self.checkpoints)

    def restore(self, arguments: Mapping[str, Any]) -> None:
        """Keep the modules among the arguments of a FleetCollector; they are as they were at the checkpoint then."""
        for name, module in modules_of(arguments).items():
            if isinstance(module, nn.Module):
                of_learners = self._spec.learners is not None and name == _POLICY
                self.checkpoints.keep({name: KeptParts(module) if of_learners else module})

    def resume_point(
        self, written: Position | None, total_frames: int | None, *, buffer_begins_empty: bool
    ) -> ResumePoint:
        """Where the collector begins, which is noted: its first version is one more. Raises InvalidOption."""
        found = resume_point(self._history, written, total_frames, buffer_begins_empty=buffer_begins_empty)
        if found.sentence:
            self._say(found.sentence)
        self.checkpoints.note(found.position)
        return found

    def resume_from(self, position: Position) -> dict[str, Any]:
        """The argument ``resume_from`` of a FleetCollector that goes on from there."""
        return {
            "frames": position.frames,
            "batches": position.batches,
            "version": position.version,
            # No two incarnations of collectors, of whichever driver, play the same episodes or number them alike.
            "incarnations": self._history.drivers * INCARNATIONS_PER_DRIVER,
            "normalization": self._normalization.saved,
            "environment_parameters": self._parameters.saved,
        }

    def keep_learners(self, learners: RunLearners, position: Position) -> None:
        """Have the actors in all checkpoints, and count their versions on from the one that the run goes on from."""
        self.checkpoints.keep_beside(learners.checkpoint)
        self.checkpoints.keep({_LEARNERS: KeptVersions(learners.feed, position.version + 1)})

    def made(self, collector: RunCollector, replicas: int) -> None:
        """The collector is there, with fewer collectors at first where ``replicas`` do not divide its batch."""
        if collector.num_collectors != replicas:
            collector.resize(replicas)
        self._normalization.follow(collector.normalization)
        self._parameters.follow(collector.environment_parameters_state)
        if collector.evaluates:
            collector.load_evaluation_state(self._evaluation.saved)
            self._evaluation.follow(collector.evaluation_state)

    def _end(self, stop: StopRequest, taken_over: str) -> None:
        """Ask for the end of a run whose checkpoints are another driver's now."""
        self.taken_over = taken_over
        stop.request(StopReason(Way.TAKEN_OVER, taken_over))


def _interval(spec: CollectorFleetSpec) -> timedelta:
    asked = spec.driver.checkpoint
    return timedelta(seconds=asked.every_seconds if asked else EVERY_SECONDS)
