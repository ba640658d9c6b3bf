"""Ctrl-C once is polite, twice is not, and patience ends."""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta

import pytest

from collectorfleet.run.stop import StopNow, StopReason, StopRequest, stop_on_signals

ORDERED = StopReason("the operator", 65, patient=True)


def press(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_the_first_ctrl_c_asks_and_the_second_interrupts() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        press()
        assert stop.requested()
        with pytest.raises(StopNow):
            press()
    stop.run_ended()
    assert stop.reason is not None
    assert (stop.reason.text, stop.reason.exit_code) == ("Ctrl-C", 130)


def test_sigterm_is_named_and_has_its_own_code() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        press(signal.SIGTERM)
    stop.run_ended()
    assert stop.reason is not None
    assert (stop.reason.text, stop.reason.exit_code) == ("SIGTERM", 143)


def test_a_run_that_does_not_stop_is_interrupted_when_its_grace_is_over() -> None:
    stop = StopRequest(grace=timedelta(seconds=0.05))
    with stop_on_signals(stop):
        press()
        with pytest.raises(StopNow):
            threading.Event().wait(20)
    stop.run_ended()


def test_a_patient_request_waits_for_the_batch_in_hand_however_long_it_takes() -> None:
    stop = StopRequest(grace=timedelta(0))
    with stop_on_signals(stop):
        stop.request(ORDERED)
        assert not threading.Event().wait(0.05)  # no grace that is over
        assert stop.requested()
    stop.run_ended()
    assert stop.reason == ORDERED


def test_a_signal_after_a_patient_request_is_a_first_one() -> None:
    stop = StopRequest(grace=timedelta(seconds=0.05))
    with stop_on_signals(stop):
        stop.request(ORDERED)
        press(signal.SIGTERM)
        with pytest.raises(StopNow):
            threading.Event().wait(20)
    stop.run_ended()
    assert stop.reason == ORDERED


@pytest.mark.parametrize(
    "reason", [ORDERED, StopReason("SIGTERM", 143)], ids=["patient", "with a grace that is not over"]
)
def test_where_nothing_is_to_be_saved_no_request_waits(reason: StopReason) -> None:
    stop = StopRequest(grace=timedelta(seconds=60))
    asks = threading.Timer(0.05, stop.request, [reason])
    with stop_on_signals(stop):
        asks.start()
        with pytest.raises(StopNow), stop.at_once():
            threading.Event().wait(20)
        asks.join()
        with pytest.raises(StopNow), stop.at_once():
            pytest.fail("what was asked for before is not seen")
    stop.run_ended()


def test_a_patient_request_after_such_a_step_waits_again() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        with stop.at_once():
            pass
        stop.request(ORDERED)
        assert not threading.Event().wait(0.05)
    stop.run_ended()


def test_signals_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals(StopRequest()):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
