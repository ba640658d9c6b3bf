"""What happens between two batches: checkpoints are written, and a run that is to stop ends."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from collectorfleet.errors import TooFewCollectors, UserCodeError
from collectorfleet.run.batch_boundary import BatchBoundary
from collectorfleet.run.position import Position
from collectorfleet.run.stop import StopReason, StopRequest


class Batch:
    """An object of its own, so that a test sees who holds it."""


class Training:
    """A run of 100 frames a batch that notes what is done about its checkpoints."""

    status = None

    def __init__(self, batches: int, error: Exception | None = None) -> None:
        self.due = False
        self.done: list[str] = []
        self.handed_out = 0
        self.stop = StopRequest()
        self._collected = self._collect(batches, error)
        self.boundary = BatchBoundary(self.stop, self)

    def batches(self) -> Iterator[Batch]:
        return self.boundary.batches(self._collected, lambda: Position(frames=100 * self.handed_out))

    def _collect(self, batches: int, error: Exception | None) -> Iterator[Batch]:
        for _ in range(batches):
            self.handed_out += 1
            yield Batch()
        if error:
            raise error

    def keep(self, objects: Mapping[str, Any]) -> bool:
        raise NotImplementedError

    def note(self, position: Position) -> None:
        self.done.append(f"noted {position.frames}")

    def write_in_background(self, position: Position) -> None:
        self.done.append(f"begun {position.frames}")

    def write(self, position: Position, *, completed: bool = False) -> bool:
        self.done.append(f"written {position.frames}")
        return not completed


@pytest.fixture
def training() -> Iterator[Training]:
    made = Training(batches=3)
    yield made
    made.stop.run_ended()


def test_each_batch_is_noted_before_anybody_trains_on_it(training: Training) -> None:
    batches = training.batches()
    next(batches)
    assert training.done == ["noted 100"]
    assert len(list(batches)) == 2
    assert training.done == ["noted 100", "noted 200", "noted 300"]


def test_a_checkpoint_is_of_the_batches_that_were_worked_off_when_the_next_is_asked_for(training: Training) -> None:
    batches = training.batches()
    next(batches)
    training.due = True
    next(batches)
    assert training.done == ["noted 100", "begun 100", "noted 200"]


def test_a_run_that_is_to_stop_ends_with_the_batch_in_hand_and_a_checkpoint(training: Training) -> None:
    batches = training.batches()
    next(batches)
    training.stop.request(StopReason("SIGTERM", 143))
    assert list(batches) == []
    assert training.done == ["noted 100", "written 100"]


def test_what_was_learned_outlives_a_fleet_that_is_lost() -> None:
    training = Training(batches=1, error=TooFewCollectors("only 1 of 4"))
    batches = training.batches()
    next(batches)
    with pytest.raises(TooFewCollectors):
        next(batches)
    assert training.done == ["noted 100", "written 100"]


def test_an_error_of_the_users_code_writes_no_checkpoint() -> None:
    training = Training(batches=0, error=UserCodeError("environment e:e", "ValueError: no"))
    with pytest.raises(UserCodeError):
        next(training.batches())
    assert training.done == []


def test_a_batch_is_handed_over_and_not_held(training: Training) -> None:
    batches = training.batches()
    batch = next(batches)
    seen = weakref.ref(batch)
    del batch
    # Its memory can be used again while the next one is waited for.
    assert seen() is None


def test_what_the_user_publishes_is_noted_before_it_is_out(training: Training) -> None:
    training.boundary.before_publish(Position(frames=100, version=7))
    assert training.done == ["noted 100"]
