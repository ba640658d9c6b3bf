"""A run of 100 frames a batch, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

from collectorfleet.run.checkpoint.checkpointer import Checkpointer
from collectorfleet.run.checkpoint.folder import CheckpointFolder
from collectorfleet.run.checkpoint.training_state import TrainingState
from collectorfleet.run.position import Position


class Training:
    """A run of 100 frames a batch, with a clock that the test moves."""

    def __init__(self, path: Path) -> None:
        self.seconds = 0.0
        self.batches = 0
        self.path = path
        self.state = TrainingState()
        self.folder = CheckpointFolder(path, fleet="cheetah", run="run-1")
        self.taken_over: list[str] = []
        self.uninterrupted: list[str] = []
        self.checkpoints = Checkpointer(
            self.folder,
            self.state,
            timedelta(seconds=60),
            self.taken_over.append,
            self._is_uninterrupted,
            clock=lambda: self.seconds,
        )

    @contextmanager
    def _is_uninterrupted(self) -> Iterator[None]:
        before = self.far()
        yield
        self.uninterrupted.append(f"{before} to {self.far()}")

    def far(self) -> int:
        """Frames of the checkpoint on disk."""
        return self.folder.newest.position.frames if self.folder.newest else 0

    def saved(self) -> Any:
        """What the object that is kept under that name is in the newest checkpoint."""
        assert self.folder.newest is not None
        return torch.load(self.folder.newest.state_file, weights_only=False)["holder"]

    def batch(self, seconds: float) -> None:
        """A batch is asked for, handed out and worked off."""
        if self.checkpoints.due:
            self.checkpoints.write_in_background(self.position())
        else:
            self.checkpoints.remember(self.position())
        self.batches += 1
        self.checkpoints.note(self.position())
        self.seconds += seconds

    def write(self) -> bool:
        return self.checkpoints.write(self.position())

    def position(self) -> Position:
        return Position(100 * self.batches, self.batches, self.batches)

    def frames(self) -> int | None:
        """Of the newest checkpoint, once nothing is being written."""
        self.checkpoints.wait()
        status = self.checkpoints.status
        return status.frames if status else None


class SlowToWrite:
    """An object of a training that takes ``seconds`` of the training's clock to write."""

    def __init__(self, training: Training, seconds: float = 1) -> None:
        self._training = training
        self.seconds = seconds

    def __reduce__(self) -> tuple[type, tuple[()]]:
        self._training.seconds += self.seconds
        return (dict, ())
