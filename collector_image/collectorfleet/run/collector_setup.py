"""Connect a collector to its run: resume it, save its state in checkpoints, and act between its batches.

The manifest or a script may create the collector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
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
from collectorfleet.run.driver_code import modules_of
from collectorfleet.run.endings import EndReason
from collectorfleet.run.history import RunHistory
from collectorfleet.run.position import Position
from collectorfleet.run.resume_point import ResumePoint, resume_point
from collectorfleet.run.run_collector import RunCollector
from collectorfleet.run.spec_learners.run_learners import KeptParts, KeptVersions, RunLearners
from collectorfleet.run.stop import StopReason, StopRequest
from collectorfleet_api.counts import counted
from collectorfleet_api.times import duration
from collectorfleet_api.v1alpha1 import CollectorFleetSpec

INCARNATIONS_PER_DRIVER: Final = 2**20
_POLICY: Final = "policy"
# A name in the training state. The colon prevents a clash with names of the user.
_LEARNERS: Final = "learners:versions"
EVERY_SECONDS: Final = 60  # between two checkpoints of a local run without driver.checkpoint in its manifest


class CollectorSetup:
    """Connects the only collector of a run to checkpoints. Use it on the driver's main thread."""

    def __init__(
        self,
        spec: CollectorFleetSpec,
        stop: StopRequest,
        history: RunHistory,
        folder: CheckpointFolder | None,
        say: Callable[[str], None],
    ) -> None:
        """``say`` is called with a sentence on the resume point. Raises UserCodeError for an unreadable checkpoint."""
        self._say = say
        self._spec = spec
        self._history = history
        self._normalization = KeptFromCollector()
        self._evaluation = KeptFromCollector()
        self._parameters = KeptFromCollector()
        # A sentence that names the driver which has taken over the checkpoints, or an empty string.
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
        """Add the modules among FleetCollector's arguments to all checkpoints, and restore their states."""
        for name, module in modules_of(arguments).items():
            if isinstance(module, nn.Module):
                of_learners = self._spec.learners is not None and name == _POLICY
                self.checkpoints.keep({name: KeptParts(module) if of_learners else module})

    def resume_point(
        self, written: Position | None, total_frames: int | None, *, buffer_begins_empty: bool
    ) -> ResumePoint:
        """Return the resume point of the collector, and note its position.

        The first version of the collector is the position's version plus 1. Raises InvalidOption if the run is over.
        """
        found = resume_point(self._history, written, total_frames, buffer_begins_empty=buffer_begins_empty)
        if found.sentence:
            self._say(found.sentence)
        self.checkpoints.note(found.position)
        return found

    def without_frames_of_learners(self, found: ResumePoint) -> ResumePoint:
        """Return the resume point of learners that begin without their earlier frames, and report the lost frames."""
        frames = found.position.frames
        self._say(
            f"learners: the replay actors begin without the {counted(frames, 'frame')} written before, because the "
            "places changed; set learners.maxPolicies before you add or remove policies"
        )
        return replace(found, buffer_frames_lost=frames)

    def resume_from(self, position: Position) -> dict[str, Any]:
        """Return the argument ``resume_from`` of a FleetCollector that resumes at ``position``."""
        return {
            "frames": position.frames,
            "batches": position.batches,
            "version": position.version,
            # Incarnations of different drivers differ, so episodes of two drivers have different seeds and numbers.
            "incarnations": self._history.drivers * INCARNATIONS_PER_DRIVER,
            "normalization": self._normalization.saved,
            "environment_parameters": self._parameters.saved,
        }

    def keep_learners(self, learners: RunLearners, position: Position) -> None:
        """Add the learners to all checkpoints. The learners' versions continue after the version of ``position``."""
        self.checkpoints.add_writer(learners.checkpoint)
        self.checkpoints.keep({_LEARNERS: KeptVersions(learners.feed, position.version + 1)})

    def made(self, collector: RunCollector, replicas: int) -> None:
        """Resize a new collector to ``replicas``, and save its state in checkpoints.

        If ``replicas`` collectors cannot divide a batch evenly, FleetCollector begins with fewer collectors.
        """
        if collector.num_collectors != replicas:
            collector.resize(replicas)
        self._normalization.follow(collector.normalization)
        self._parameters.follow(collector.environment_parameters_state)
        if collector.evaluates:
            collector.load_evaluation_state(self._evaluation.saved)
            self._evaluation.follow(collector.evaluation_state)

    def _end(self, stop: StopRequest, taken_over: str) -> None:
        """Request the end of the run, because another driver has taken over its checkpoints."""
        self.taken_over = taken_over
        stop.request(StopReason(EndReason.TAKEN_OVER, taken_over))


def _interval(spec: CollectorFleetSpec) -> timedelta:
    asked = spec.driver.checkpoint
    return duration(asked.every_seconds if asked else EVERY_SECONDS)
