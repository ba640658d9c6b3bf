"""Ctrl-C once is polite, twice is not, and patience ends."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from collectorfleet.run.endings import EndReason
from collectorfleet.run.stop import StopNow, StopReason, StopRequest, stop_on_signals

ORDERED = StopReason(EndReason.ORDERED, "the operator")
TAKEN_OVER = StopReason(EndReason.TAKEN_OVER, "another driver")


def press(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def press_and_wait(number: signal.Signals) -> None:
    """Wait for an interruption, which may come as soon as the signal is sent."""
    press(number)
    threading.Event().wait(20)


def test_the_first_ctrl_c_asks_and_the_second_interrupts() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        press()
        assert stop.requested()
        with pytest.raises(StopNow):
            press()
    stop.run_ended()
    assert stop.reason is not None
    assert stop.reason == StopReason(EndReason.INTERRUPTED, "Ctrl-C")


def test_sigterm_is_named() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        press(signal.SIGTERM)
    stop.run_ended()
    assert stop.reason is not None
    assert stop.reason == StopReason(EndReason.SIGTERM, "SIGTERM")


def test_a_closed_terminal_asks_once_however_often_it_is_said() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        press(signal.SIGHUP)
        press(signal.SIGHUP)
    stop.run_ended()
    assert stop.reason == StopReason(EndReason.SIGTERM, "SIGHUP")


def test_a_run_under_nohup_outlives_its_terminal() -> None:
    stop = StopRequest()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals(stop):
            press(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not stop.requested()


def test_a_run_that_does_not_stop_is_interrupted_when_its_grace_is_over(caplog: pytest.LogCaptureFixture) -> None:
    # A third of the grace is for the end, and a run without checkpoints needs no time for a checkpoint.
    stop = StopRequest(killed_after=0.9)
    with stop_on_signals(stop), pytest.raises(StopNow):
        press_and_wait(signal.SIGINT)
    stop.run_ended()
    assert "the run has not ended 1 s after the request to stop, and is interrupted" in caplog.text


def test_each_reason_is_logged_once_and_again_when_its_time_begins(caplog: pytest.LogCaptureFixture) -> None:
    stop = StopRequest(killed_after=600)
    deleted = StopReason(EndReason.FLEET_GONE, "the fleet was deleted")
    for reason in (ORDERED, ORDERED, deleted, deleted, deleted):
        stop.request(reason)
    stop.run_ended()
    assert caplog.messages == ["stopping: the operator", "stopping: the fleet was deleted"]


def test_a_program_that_ends_early_does_not_wait_for_the_time_of_its_batch() -> None:
    stop, before = StopRequest(killed_after=600), set(threading.enumerate())
    stop.request(StopReason(EndReason.FLEET_GONE, "the fleet was deleted"))
    (waits,) = set(threading.enumerate()) - before
    assert waits.daemon
    stop.run_ended()
    waits.join()


def test_a_checkpoint_that_nothing_interrupts_does_not_end_the_run() -> None:
    stop, written = StopRequest(), []
    with stop_on_signals(stop):
        for asks in (lambda: None, press):
            asks()
            with stop.uninterrupted():
                written.append("checkpoint")
    stop.run_ended()
    assert written == ["checkpoint"] * 2


def test_a_patient_request_waits_for_the_batch_in_hand_however_long_it_takes() -> None:
    stop = StopRequest(killed_after=0)
    with stop_on_signals(stop):
        stop.request(ORDERED)
        assert not threading.Event().wait(0.05)  # no grace that is over
        assert stop.requested()
    stop.run_ended()
    assert stop.reason == ORDERED


def test_a_signal_after_a_patient_request_is_a_first_one() -> None:
    stop = StopRequest(killed_after=0.05)
    with stop_on_signals(stop):
        stop.request(ORDERED)
        with pytest.raises(StopNow):
            press_and_wait(signal.SIGTERM)
    stop.run_ended()
    assert stop.reason == ORDERED


@pytest.mark.parametrize(
    "reason", [ORDERED, StopReason(EndReason.SIGTERM, "SIGTERM")], ids=["patient", "with a grace that is not over"]
)
def test_where_nothing_is_to_be_saved_no_request_waits(reason: StopReason, caplog: pytest.LogCaptureFixture) -> None:
    stop = StopRequest(killed_after=600)
    asks = threading.Timer(0.05, stop.request, [reason])
    with stop_on_signals(stop):
        asks.start()
        with pytest.raises(StopNow), stop.interruptible():
            threading.Event().wait(20)
        asks.join()
        with pytest.raises(StopNow), stop.interruptible():
            pytest.fail("what was asked for before is not seen")
    stop.run_ended()
    assert "has not ended" not in caplog.text


def test_a_step_inside_another_leaves_the_outer_one_interruptible() -> None:
    stop = StopRequest(killed_after=600)
    asks = threading.Timer(0.05, stop.request, [StopReason(EndReason.SIGTERM, "SIGTERM")])

    def start() -> None:
        with stop.interruptible():
            with stop.interruptible():
                pass
            asks.start()
            threading.Event().wait(20)

    with stop_on_signals(stop), pytest.raises(StopNow):
        start()
    asks.join()
    stop.run_ended()


def test_a_patient_request_after_such_a_step_waits_again() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        with stop.interruptible():
            pass
        stop.request(ORDERED)
        assert not threading.Event().wait(0.05)
    stop.run_ended()


def test_signals_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals(StopRequest()):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_checkpoint_that_is_written_is_not_interrupted_and_the_run_is_afterwards(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stop, written = StopRequest(), []

    def write() -> None:
        with stop.uninterrupted():
            press()
            press()
            press()
            with stop.uninterrupted():
                press()
            written.append("checkpoint")
        pytest.fail("the run goes on")

    with stop_on_signals(stop):
        with pytest.raises(StopNow):
            write()
        assert written == ["checkpoint"]
        # Told once; the next one interrupts as before.
        assert caplog.text.count("a checkpoint is being written") == 1
        with stop.uninterrupted():
            written.append("last checkpoint")
        assert written == ["checkpoint", "last checkpoint"]
        with pytest.raises(StopNow):
            press()
    stop.run_ended()


def test_what_asks_before_or_in_the_last_checkpoint_does_not_interrupt_it() -> None:
    stop = StopRequest()
    with stop_on_signals(stop):
        press()
        stop.run_ended()
        with stop.uninterrupted():
            press()
        press()


def test_sigterm_after_the_fleet_was_deleted_leaves_the_run_its_time() -> None:
    stop = StopRequest(killed_after=600)
    with stop_on_signals(stop):
        stop.request(StopReason(EndReason.FLEET_GONE, "the fleet was deleted"))
        press(signal.SIGTERM)
        with pytest.raises(StopNow):
            press(signal.SIGTERM)
    stop.run_ended()
    assert stop.reason == StopReason(EndReason.FLEET_GONE, "the fleet was deleted")


def test_a_run_is_interrupted_early_enough_for_a_checkpoint_that_takes_long() -> None:
    stop = StopRequest(killed_after=600)
    stop.leave_time_for(lambda: 400.0)

    with stop_on_signals(stop), pytest.raises(StopNow):
        press_and_wait(signal.SIGTERM)
    stop.run_ended()


def test_only_the_main_thread_is_interrupted() -> None:
    stop, done = StopRequest(), []

    def write() -> None:
        with stop.uninterrupted():
            started.set()
            asked.wait(20)
        done.append("checkpoint")

    started, asked = threading.Event(), threading.Event()
    thread = threading.Thread(target=write)
    with stop_on_signals(stop):
        thread.start()
        started.wait(20)
        press()
        with pytest.raises(StopNow):
            press()
        asked.set()
        thread.join()
    stop.run_ended()
    assert done == ["checkpoint"]


def test_a_signal_in_the_middle_of_the_end_interrupts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, pressed = StopRequest(), []
    with stop_on_signals(stop):
        press()

        def is_set() -> None:
            press()  # the signal comes at this moment
            pressed.append(signal.SIGINT)

        monkeypatch.setattr(stop._ended, "set", is_set)
        stop.run_ended()
        monkeypatch.undo()
    stop.run_ended()
    assert len(pressed) == 1
