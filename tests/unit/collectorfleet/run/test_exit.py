"""How a run ended becomes an exit code and a pod's last words."""

from __future__ import annotations

import pytest

from collectorfleet.errors import InvalidOption, TooFewCollectors, UserCodeError
from collectorfleet.run.conclude import conclude
from collectorfleet.run.exit import (
    TERMINATION_MESSAGE_BYTES,
    Broken,
    Ending,
    Finished,
    NotOurFleet,
    Stopped,
    UserError,
    ending_of,
    exit_code,
    termination_message,
)
from collectorfleet.run.stop import Reason, StopRequest


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        pytest.param(Finished("done"), 0, id="finished"),
        pytest.param(UserError("train t:t: ValueError: no"), 64, id="user"),
        pytest.param(Broken("ConnectionError: no"), 1, id="broken"),
        pytest.param(Stopped("stopped by SIGTERM", 143), 143, id="stopped"),
    ],
)
def test_exit_codes_say_whether_to_try_again(ending: Ending, code: int) -> None:
    assert exit_code(ending) == code


def test_an_error_of_the_users_code_keeps_its_words_and_its_traceback() -> None:
    error = UserCodeError("environment my_envs:make (collector c0)", "ValueError: no such game", "Traceback ...\nlast")
    assert ending_of(error) == UserError(
        "environment my_envs:make (collector c0): ValueError: no such game", "Traceback ...\nlast"
    )


@pytest.mark.parametrize("error", [InvalidOption("frames_per_batch: 7"), NotOurFleet("fleet a/b was replaced")])
def test_what_stays_wrong_is_not_tried_again(error: Exception) -> None:
    assert exit_code(ending_of(error)) == 64


@pytest.mark.parametrize("error", [TooFewCollectors("only 1 of 4"), ConnectionError("reset"), MemoryError()])
def test_infrastructure_is_tried_again(error: Exception) -> None:
    assert exit_code(ending_of(error)) == 1


def test_a_long_error_of_many_lines_is_one_sentence() -> None:
    ending = ending_of(UserCodeError("train t:t", "KeyError: \n  a\n  b " + "x" * 5000))
    assert "\n" not in ending.message
    assert ending.message.startswith("train t:t: KeyError: a b x")
    assert len(ending.message) <= 1000


def test_the_last_words_begin_with_the_sentence_and_end_with_the_end_of_the_traceback() -> None:
    text = termination_message(UserError("train t:t: ValueError: no", "é" * 9000 + "\nValueError: no\n"))
    assert text.splitlines()[0] == "train t:t: ValueError: no"
    assert text.endswith("ValueError: no")
    assert len(text.encode()) <= TERMINATION_MESSAGE_BYTES


def test_a_run_that_was_asked_to_stop_was_stopped_whatever_the_users_code_made_of_it() -> None:
    stop = StopRequest()
    stop.request(Reason("SIGTERM", 143))

    def complains() -> Finished:
        raise UserCodeError("train t:t", "RuntimeError: goal not reached")

    assert conclude(complains, stop) == Stopped("stopped by SIGTERM", 143)
    assert conclude(lambda: Finished("early"), stop) == Stopped("stopped by SIGTERM", 143)


def test_a_stop_after_the_end_changes_nothing() -> None:
    stop = StopRequest()
    assert conclude(lambda: Finished("done"), stop) == Finished("done")
    stop.request(Reason("the fleet was deleted", 1))
    assert stop.reason is None
