"""How a run ended becomes an exit code and a pod's termination message."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from collectorfleet.errors import InfrastructureError, InvalidOption, TooFewCollectors, UserCodeError
from collectorfleet.run.checkpoint.owner import owner_of
from collectorfleet.run.driver_code import TrainingFunction
from collectorfleet.run.exit import (
    TERMINATION_MESSAGE_BYTES,
    Broken,
    Completed,
    Exit,
    FleetGone,
    Stopped,
    UserError,
    exit_code,
    exit_of,
    termination_message,
)
from collectorfleet.run.handle import Run
from collectorfleet.run.stop import StopRequest
from collectorfleet.run.supervision import supervise
from collectorfleet.run.work import train
from collectorfleet.transport.processes.user_objects import pickled


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        pytest.param(Completed("done"), 0, id="finished"),
        pytest.param(UserError("train t:t: ValueError: no"), 64, id="user"),
        pytest.param(Broken("ConnectionError: no"), 1, id="broken"),
        pytest.param(Stopped("stopped: SIGTERM", 143), 143, id="stopped"),
    ],
)
def test_exit_codes_say_whether_to_try_again(ended: Exit, code: int) -> None:
    assert exit_code(ended) == code


def test_an_error_of_the_users_code_keeps_its_words_and_its_traceback() -> None:
    error = UserCodeError("environment my_envs:make (collector c0)", "ValueError: no such game", "Traceback ...\nlast")
    assert exit_of(error) == UserError(
        "environment my_envs:make (collector c0): ValueError: no such game", "Traceback ...\nlast"
    )


@pytest.mark.parametrize("error", [InvalidOption("frames_per_batch: 7"), FleetGone("fleet a/b was replaced")])
def test_what_stays_wrong_is_not_tried_again(error: Exception) -> None:
    assert exit_code(exit_of(error)) == 64


def test_a_refused_option_has_a_traceback_only_if_the_users_code_ran(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    for refuses, expected in (
        (partial(owner_of, tmp_path, "cheetah", "run-1"), False),
        (refused_by_users_code, True),
        (partial(pickled, "create_env_fn", NotPickled()), True),
    ):
        ended = supervise(refuses, StopRequest())  # type: ignore[arg-type]
        assert isinstance(ended, UserError)
        assert bool(ended.traceback) is expected


class NotPickled:
    def __reduce__(self) -> str:
        raise ValueError("the simulator has a window")


def refused_by_users_code() -> Completed:
    raise InvalidOption("frames_per_batch: 7")


@pytest.mark.parametrize("error", [TooFewCollectors("only 1 of 4"), ConnectionError("reset"), MemoryError()])
def test_infrastructure_is_tried_again(error: Exception) -> None:
    assert exit_code(exit_of(error)) == 1


def test_a_long_error_of_many_lines_is_one_sentence() -> None:
    ended = exit_of(UserCodeError("train t:t", "KeyError: \n  a\n  b " + "x" * 5000))
    assert "\n" not in ended.message
    assert ended.message.startswith("train t:t: KeyError: a b x")
    assert len(ended.message) <= 1000


def test_the_termination_message_begins_with_the_sentence_and_ends_with_the_end_of_the_traceback() -> None:
    text = termination_message(UserError("train t:t: ValueError: no", "é" * 9000 + "\nValueError: no\n"))
    assert text.splitlines()[0] == "train t:t: ValueError: no"
    assert text.endswith("ValueError: no")
    assert len(text.encode()) <= TERMINATION_MESSAGE_BYTES


def test_a_lost_cluster_is_nobodys_code_even_inside_the_training_function() -> None:
    lost = InfrastructureError.of("gathering", ConnectionError("no route to the head"))

    def training(_collector: Any, _run: Any) -> None:
        raise lost

    with pytest.raises(InfrastructureError) as raised:
        train(TrainingFunction("t:t", training, {}), Any, Run())  # type: ignore[arg-type]
    ended = exit_of(raised.value)
    assert isinstance(ended, Broken)
    assert ended.message == "InfrastructureError: gathering: ConnectionError: no route to the head"
