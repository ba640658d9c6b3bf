"""What a run does with its batches, and what becomes of what the user's code raises."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ray.exceptions import ActorUnavailableError
from tensordict import TensorDict, TensorDictBase

from collectorfleet.errors import InfrastructureError, InvalidOption, TooFewCollectors, UserCodeError
from collectorfleet.run.driver_code import TrainingFunction
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.output.interface import OutputWriter
from collectorfleet.run.position import Position
from collectorfleet.run.work import learn, train, write_out
from collectorfleet_api.v1alpha1 import DriverReport, Progress


class Collector:
    """As far as a training function is called with one."""

    replay_buffer = None

    def status(self) -> DriverReport:
        return DriverReport(progress=Progress(frames_delivered=800, batches=4))


def call(function: Callable[..., Any], **kwargs: Any) -> Completed:
    return train(TrainingFunction("my_train:train", function, kwargs), Collector(), Run())  # type: ignore[arg-type]


def test_a_training_function_gets_collector_run_and_its_arguments_and_is_done_when_it_returns() -> None:
    got: list[Any] = []
    assert call(lambda *given, **kwargs: got.extend([*given, kwargs]), lr=0.1) == Completed(
        "my_train:train returned after 800 frames in 4 batches"
    )
    assert [type(one) for one in got[:2]] == [Collector, Run]
    assert got[2] == {"lr": 0.1}


def test_an_error_of_the_training_function_is_named_with_its_import_path() -> None:
    with pytest.raises(UserCodeError, match="train my_train:train: ZeroDivisionError: division by zero"):
        call(lambda *_: 1 / 0)


def test_a_lost_fleet_is_no_fault_of_the_training_function() -> None:
    def asks_for_a_batch(*_: object) -> None:
        raise TooFewCollectors("only 1 of 4")

    with pytest.raises(TooFewCollectors):
        call(asks_for_a_batch)


def test_an_actor_that_is_lost_is_no_fault_of_the_training_function() -> None:
    def asks_a_learner(*_: object) -> None:
        raise ActorUnavailableError("it is being built anew", None)

    with pytest.raises(InfrastructureError, match=r"^train my_train:train: ActorUnavailableError: .*built anew"):
        call(asks_a_learner)


def test_each_policy_that_changed_is_published_after_each_batch_and_what_it_says_is_reported() -> None:
    done: list[str] = []

    class Feed:
        def publish(self, collector: object) -> None:
            assert collector is batches
            done.append("published")

    class Learners:
        feed, shards = Feed(), ("x", "o")

        def learn(self, batch_size: int) -> dict[str, float]:
            done.append(f"learned from {batch_size}")
            return {"learn/x": 0.5}

    class Batches(Collector):
        def __iter__(self) -> Iterator[None]:
            return iter([None, None])

    run, batches = Run(), Batches()
    with pytest.raises(InvalidOption, match=r"^run.learners: the fleet has no learners; set spec.learners$"):
        run.learners  # noqa: B018
    run.set_learners(Learners())  # type: ignore[arg-type]
    assert learn(batches, run, 64).message == "2 policies learned from 800 frames in 4 batches"  # type: ignore[arg-type]
    assert done == ["learned from 64", "published"] * 2
    assert run.metrics == {"learn/x": 0.5}


def test_a_script_that_exits_is_done_with_code_0_and_failed_with_another() -> None:
    assert call(lambda *_: sys.exit(0)).message.startswith("my_train:train returned")
    assert call(lambda *_: sys.exit()).message.startswith("my_train:train returned")
    with pytest.raises(UserCodeError, match="train my_train:train: SystemExit: no GPU"):
        call(lambda *_: sys.exit("no GPU"))


class Writer:
    """An output in memory."""

    position = Position()

    def __init__(self) -> None:
        self.waiting: list[TensorDictBase] = []
        self.on_disk = 0

    @property
    def summary(self) -> str:
        return f"{self.on_disk} batches are somewhere"

    def write(self, batch: TensorDictBase) -> None:
        self.waiting.append(batch)

    def flush(self) -> None:
        self.on_disk += len(self.waiting)
        self.waiting = []


def test_batches_that_nobody_trains_on_are_written_out() -> None:
    writer: OutputWriter = Writer()
    assert write_out([TensorDict(), TensorDict()], writer) == Completed("2 batches are somewhere")


def test_what_was_collected_before_the_fleet_was_lost_is_written_out() -> None:
    def batches() -> Iterator[TensorDictBase]:
        yield TensorDict()
        raise TooFewCollectors("only 1 of 4")

    writer = Writer()
    with pytest.raises(TooFewCollectors):
        write_out(batches(), writer)
    assert writer.on_disk == 1
