"""What happens between two batches: checkpoints are written, and a run that is to stop ends."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest

from collectorfleet.run.batch_boundary import BatchBoundary
from collectorfleet.run.endings import EndReason
from collectorfleet.run.position import Position
from collectorfleet.run.stop import StopNow, StopReason, StopRequest, stop_on_signals


class Batch:
    """An object of its own, so that a test sees who holds it."""


class Training:
    """A run of 100 frames a batch that notes what is done about its checkpoints."""

    status = None

    def __init__(self, batches: int, error: BaseException | None = None) -> None:
        self.due = False
        self.is_restored = True
        self.done: list[str] = []
        self.handed_out = 0
        self.stop = StopRequest()
        self._collected = self._collect(batches, error)
        self.boundary = BatchBoundary(self.stop, self)

    def batches(self) -> Iterator[Batch]:
        return self.boundary.batches(self._collected, lambda: Position(frames=100 * self.handed_out))

    def _collect(self, batches: int, error: BaseException | None) -> Iterator[Batch]:
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

    def write(self, position: Position, *, completed: bool = False, soon: bool = False) -> bool:
        self.done.append(f"written {position.frames}{' soon' * soon}")
        return not completed

    def remember(self, position: Position, *, at_any_cost: bool = False) -> None:
        self.done.append(f"remembered {position.frames}{' at any cost' * at_any_cost}")

    def write_remembered(self, position: Position) -> bool:
        self.done.append(f"what was remembered is written at {position.frames}")
        return True


@pytest.fixture
def training() -> Iterator[Training]:
    made = Training(batches=3)
    yield made
    made.stop.run_ended()


def test_each_batch_is_noted_before_anybody_trains_on_it_and_remembered_when_it_is_worked_off(
    training: Training,
) -> None:
    batches = training.batches()
    next(batches)
    assert training.done == ["noted 100"]
    next(batches)
    assert training.done == ["noted 100", "remembered 100", "noted 200"]
    assert len(list(batches)) == 1
    # At the end of all batches, what the training function learned from the last one.
    assert training.done[3:] == ["remembered 200", "noted 300", "remembered 300", "remembered 300 at any cost"]


def test_a_checkpoint_is_of_the_batches_that_were_worked_off_when_the_next_is_asked_for(training: Training) -> None:
    batches = training.batches()
    next(batches)
    training.due = True
    next(batches)
    assert training.done == ["noted 100", "begun 100", "noted 200"]


def test_a_run_that_is_to_stop_ends_with_the_batch_in_hand_and_writes_nothing_yet(training: Training) -> None:
    batches = training.batches()
    next(batches)
    training.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    assert list(batches) == []
    assert training.done == ["noted 100", "remembered 100 at any cost"]


def test_a_run_that_is_interrupted_in_a_batch_leaves_what_was_learned_before_it(training: Training) -> None:
    batches = training.batches()
    next(batches)
    next(batches)
    training.done.clear()
    training.boundary.write_last()
    assert training.done == ["what was remembered is written at 200"]


def test_a_run_that_is_interrupted_while_it_waits_for_a_batch_leaves_all_that_was_learned() -> None:
    training = Training(batches=1, error=StopNow())
    batches = training.batches()
    next(batches)
    with pytest.raises(StopNow):
        next(batches)
    training.done.clear()
    training.handed_out += 1  # nobody got it
    training.boundary.write_last()
    assert training.done == ["written 100 soon"]


def test_a_resumed_run_that_ends_before_its_first_batch_leaves_where_it_goes_on_from(training: Training) -> None:
    training.handed_out = 7
    training.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    assert list(training.batches()) == []
    training.done.clear()
    training.boundary.write_last()
    assert training.done == ["written 700 soon"]


def test_a_checkpoint_stays_until_the_first_batch_if_its_states_are_not_all_restored(training: Training) -> None:
    """The training function may register objects in its loop. Their states are on disk only."""
    training.due, training.is_restored = True, False
    batches = training.batches()
    next(batches)
    assert training.done == ["noted 100"]
    next(batches)
    assert training.done == ["noted 100", "begun 100", "noted 200"]


@pytest.mark.parametrize("ending", ["before the loop", "in the wait", "no batch is left"])
def test_a_resumed_run_that_ends_before_its_first_batch_keeps_states_that_are_not_restored(ending: str) -> None:
    training = Training(batches=0, error=StopNow() if ending == "in the wait" else None)
    training.is_restored = False
    if ending == "before the loop":
        training.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    with suppress(StopNow):
        assert list(training.batches()) == []
    assert not training.boundary.may_replace_checkpoint
    training.boundary.write_last()
    assert training.done == []
    training.stop.run_ended()


@pytest.mark.parametrize("loops", [1, 2])
@pytest.mark.parametrize(("wait_for", "interrupted"), [(1, True), (2, False)])
def test_a_request_to_stop_interrupts_the_wait_for_the_first_batch_alone(
    wait_for: int, interrupted: bool, loops: int
) -> None:
    """Before the first batch there is nothing to save. Later, the batch in hand is worth its grace period."""
    stop, waits = StopRequest(killed_after=600), threading.Event()
    training = Training(batches=0)

    def collect() -> Iterator[Batch]:
        for number in (1, 2):
            if number == wait_for:
                request.start()
                waits.wait(0.2 if not interrupted else 20)
            yield Batch()

    request = threading.Timer(0.02, stop.request, [StopReason(EndReason.SIGTERM, "SIGTERM")])
    boundary = BatchBoundary(stop, training)
    with stop_on_signals(stop):
        collected = collect()
        found = boundary.batches(collected, Position)
        if interrupted:
            with pytest.raises(StopNow):
                next(found)
        elif loops == 1:
            assert len(list(found)) == 2
        else:
            next(found)
            # The training function begins another loop.
            assert len(list(boundary.batches(collected, Position))) == 1
        request.join()
        stop.run_ended()


def test_a_thread_that_iterates_beside_the_training_remembers_nothing(training: Training) -> None:
    batches = training.batches()

    def iterate() -> None:
        next(batches)
        next(batches)

    thread = threading.Thread(target=iterate)
    thread.start()
    thread.join()
    assert training.done == ["noted 100", "noted 200"]
    training.done.clear()
    training.boundary.write_last()
    assert training.done == ["written 100 soon"]


def test_a_run_that_is_interrupted_before_its_first_batch_leaves_nothing(training: Training) -> None:
    training.boundary.write_last()
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
