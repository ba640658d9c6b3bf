"""The end of a run: which checkpoint a session leaves, however its work ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from collectorfleet.errors import FolderTakenOver, InfrastructureError, TooFewCollectors, UserCodeError
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.run.endings import EndReason
from collectorfleet.run.exit import Completed
from collectorfleet.run.handle import Run
from collectorfleet.run.log.run_log import RunLog
from collectorfleet.run.position import Position
from collectorfleet.run.resume_point import ResumePoint
from collectorfleet.run.session import Session
from collectorfleet.run.stop import StopNow, StopReason, StopRequest
from collectorfleet_api.v1alpha1 import DriverReport, EvaluationStatus, VideoStatus


class Ending:
    """A session without a collector, whose work a test says; notes what is written at its end."""

    def __init__(self) -> None:
        self.stop = StopRequest()
        self.written: list[str] = []
        self.may_replace_checkpoint = True
        making: Any = SimpleNamespace(checkpoints=self, boundary=self, taken_over="")
        self.making = making
        self.session = Session(making, Run(self.stop.requested), DriverReport(), self.stop)

    def write(self, _position: Position, *, completed: bool = False) -> None:
        # Nothing interrupts it.
        self.stop.on_signal(2, None)
        self.stop.on_signal(2, None)
        self.written.append("of the end, completed" if completed else "of the end")

    def write_last(self) -> None:
        self.stop.on_signal(2, None)
        self.stop.on_signal(2, None)
        self.written.append("of the last batch")

    def execute(self, work: Callable[[], Completed]) -> None:
        self.session.set_work(work)
        self.session.execute()


@pytest.fixture
def ending() -> Iterator[Ending]:
    made = Ending()
    yield made
    made.stop.run_ended()


def raises(error: BaseException) -> Completed:
    raise error


def test_a_function_that_returns_leaves_all_that_was_learned_as_completed(ending: Ending) -> None:
    ending.execute(lambda: Completed("done"))
    assert ending.written == ["of the end, completed"]


KINDS = ["no evaluation", "no videos", "videos"]


@pytest.mark.parametrize("status", [None, EvaluationStatus(), EvaluationStatus(video=VideoStatus())], ids=KINDS)
def test_a_collector_with_videos_that_nobody_stores_is_told_of(
    ending: Ending, status: EvaluationStatus | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The collector decides, because a script may request videos that the manifest does not."""
    ending.session.set_video_log(RunLog({}, DriverReport, every_seconds=1), None)
    collector: Any = SimpleNamespace(
        evaluates=status is not None,
        evaluations=list,
        take_videos=lambda _: None,
        status=lambda: DriverReport(evaluation=status),
    )
    ending.session.begin(collector, ResumePoint(Position()))
    is_recorded = status is not None and status.video is not None
    assert ["no folder and no logger" in one.message for one in caplog.records] == [True] * is_recorded


@pytest.mark.parametrize(
    "way", [EndReason.ORDERED, EndReason.SIGTERM, EndReason.INTERRUPTED, EndReason.FLEET_GONE, EndReason.ACCESS_REFUSED]
)
def test_a_run_that_was_asked_to_end_leaves_one_checkpoint(ending: Ending, way: EndReason) -> None:
    ending.stop.request(StopReason(way, "why"))
    ending.execute(lambda: Completed("early"))
    assert ending.written == ["of the end"]


def test_a_run_that_ends_before_its_first_batch_keeps_the_checkpoint_with_states_that_are_not_restored(
    ending: Ending,
) -> None:
    ending.may_replace_checkpoint = False
    ending.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    ending.execute(lambda: Completed("early"))
    assert ending.written == []


def test_a_function_that_returns_without_a_batch_completes_the_run(ending: Ending) -> None:
    ending.may_replace_checkpoint = False
    ending.execute(lambda: Completed("done"))
    assert ending.written == ["of the end, completed"]


@pytest.mark.parametrize("error", [StopNow(), UserCodeError("train t:t", "goal not reached")])
def test_one_whose_function_did_not_return_leaves_the_last_batch(ending: Ending, error: BaseException) -> None:
    ending.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    with pytest.raises(type(error)):
        ending.execute(lambda: raises(error))
    assert ending.written == ["of the last batch"]


@pytest.mark.parametrize("error", [None, StopNow()])
def test_the_evaluation_ends_before_the_last_checkpoint(ending: Ending, error: BaseException | None) -> None:
    """A later result would be in the last status and in no checkpoint."""
    collector: Any = SimpleNamespace(
        evaluates=False,
        position=Position,
        settle=lambda: None,
        stop_evaluating=lambda: ending.written.append("no evaluation follows"),
    )
    ending.session._collector = collector
    ending.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    with suppress(StopNow):
        ending.execute(lambda: raises(error) if error else Completed("early"))
    assert ending.written == ["no evaluation follows", "of the last batch" if error else "of the end"]


def test_a_lost_fleet_leaves_what_was_learned(ending: Ending) -> None:
    with pytest.raises(TooFewCollectors):
        ending.execute(lambda: raises(TooFewCollectors("only 1 of 4")))
    assert ending.written == ["of the last batch"]


@pytest.mark.parametrize(
    "error", [UserCodeError("train t:t", "ValueError: no"), FolderTakenOver("/checkpoints", "another")]
)
def test_an_error_of_the_users_code_and_a_lost_folder_leave_nothing(ending: Ending, error: Exception) -> None:
    with pytest.raises(type(error)):
        ending.execute(lambda: raises(error))
    assert ending.written == []


@pytest.mark.parametrize(
    "work", [lambda: Completed("early"), lambda: raises(StopNow())], ids=["returned", "interrupted"]
)
def test_a_displaced_driver_leaves_nothing(ending: Ending, work: Callable[[], Completed]) -> None:
    ending.stop.request(StopReason(EndReason.TAKEN_OVER, "another driver has taken over"))
    with suppress(StopNow):
        ending.execute(work)
    assert ending.written == []


def test_a_driver_that_is_displaced_in_its_last_write_has_not_completed(ending: Ending) -> None:
    ending.making.taken_over = "checkpoints in /checkpoints: another driver has taken over the folder"
    with pytest.raises(InfrastructureError, match="another driver has taken over the folder"):
        ending.execute(lambda: Completed("done"))


def test_a_stop_that_comes_while_the_last_checkpoint_is_written_is_too_late(ending: Ending) -> None:
    ending.execute(lambda: Completed("done"))
    ending.stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))
    assert ending.stop.reason is None


def test_a_session_has_the_results_of_its_collector_once_there_is_one(ending: Ending) -> None:
    assert ending.session.evaluations() == []
    quiet: Any = SimpleNamespace(evaluates=False)
    ending.session.begin(quiet, ResumePoint(Position()))
    assert ending.session.evaluations() == []
    results = [EvaluationResult(1, 100, (1.0,), (10,), 0.1, datetime(2026, 1, 1, tzinfo=UTC))]
    collector: Any = SimpleNamespace(evaluates=True, evaluations=lambda: results)
    ending.session.begin(collector, ResumePoint(Position()))
    assert ending.session.evaluations() == results
