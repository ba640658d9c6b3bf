"""Whatever happens in a run, it ends in one of four ways."""

from __future__ import annotations

from collectorfleet.errors import UserCodeError
from collectorfleet.run.endings import EndReason
from collectorfleet.run.exit import Broken, Completed, Stopped, UserError
from collectorfleet.run.stop import StopReason, StopRequest
from collectorfleet.run.supervision import supervise


def test_a_run_that_was_asked_to_stop_was_stopped_whatever_the_users_code_made_of_it() -> None:
    stop = StopRequest()
    stop.request(StopReason(EndReason.SIGTERM, "SIGTERM"))

    def complains() -> Completed:
        raise UserCodeError("train t:t", "RuntimeError: goal not reached")

    assert supervise(complains, stop) == Stopped("stopped: SIGTERM", 143)
    assert supervise(lambda: Completed("early"), stop) == Stopped("stopped: SIGTERM", 143)


def test_a_stop_after_the_end_changes_nothing() -> None:
    stop = StopRequest()
    assert supervise(lambda: Completed("done"), stop) == Completed("done")
    stop.request(StopReason(EndReason.FLEET_GONE, "the fleet was deleted"))
    assert stop.reason is None


def test_whatever_leaves_the_users_code_is_an_exit_and_no_traceback_in_the_terminal() -> None:
    def fails(error: BaseException) -> Completed:
        raise error

    lost = supervise(lambda: fails(ConnectionError("reset")), StopRequest())
    assert isinstance(lost, Broken)
    assert lost.message == "ConnectionError: reset"
    wrong = supervise(lambda: fails(UserCodeError("train t:t", "ValueError: no")), StopRequest())
    assert isinstance(wrong, UserError)
    assert isinstance(supervise(lambda: fails(SystemExit(3)), StopRequest()), Broken)
