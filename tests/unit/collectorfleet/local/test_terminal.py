"""What a person reads of a run's end, and what goes into the log."""

from __future__ import annotations

import io
import logging
import os
from pathlib import Path

import pytest

from collectorfleet.display.lines import ProgressLines
from collectorfleet.display.live import LiveTable
from collectorfleet.local.terminal import Terminal
from collectorfleet.run.exit import Broken, Completed, Exit, Stopped, UserError
from collectorfleet_api.v1alpha1 import CheckpointStatus, DriverReport


@pytest.fixture
def terminal() -> Terminal:
    return Terminal(out=io.StringIO(), errors=io.StringIO())


def read(stream: object) -> str:
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_the_end_of_the_work_is_one_line_and_no_error(terminal: Terminal) -> None:
    terminal.say_exit(Completed("t:t returned"), Path("run.log"))
    terminal.say_exit(Stopped("stopped: Ctrl-C", 130), Path("run.log"))
    assert read(terminal.out) == "completed: t:t returned\nstopped: Ctrl-C\n"
    assert read(terminal.errors) == ""


@pytest.mark.parametrize("kind", [UserError, Broken])
def test_a_failure_is_its_first_cause_and_the_place_of_its_traceback(
    terminal: Terminal, kind: type[UserError | Broken], caplog: pytest.LogCaptureFixture
) -> None:
    ended: Exit = kind("train t:t: ValueError: no", "Traceback ...\nValueError: no")
    with caplog.at_level(logging.ERROR):
        terminal.say_exit(ended, Path("/tmp/cfleet-1/run.log"))
    assert read(terminal.errors) == ("error: train t:t: ValueError: no\nThe traceback is in /tmp/cfleet-1/run.log.\n")
    assert read(terminal.out) == ""
    assert "Traceback ...\nValueError: no" in caplog.text


def test_a_refused_option_is_one_line(terminal: Terminal) -> None:
    terminal.say_exit(UserError("--checkpoint runs: the folder is not empty"), Path("/tmp/cfleet-1/run.log"))
    assert read(terminal.errors) == "error: --checkpoint runs: the folder is not empty\n"


def test_a_last_checkpoint_that_is_not_on_disk_is_a_warning(terminal: Terminal) -> None:
    terminal.say_unwritten(None)
    terminal.say_unwritten(CheckpointStatus(frames=100))
    assert read(terminal.errors) == ""
    terminal.say_unwritten(CheckpointStatus(frames=0, failure="/a: no room"))
    terminal.say_unwritten(CheckpointStatus(frames=2000, failure="/a: no room"))
    begin = "warning: the last checkpoint could not be written: /a: no room"
    assert read(terminal.errors).splitlines() == [
        f"{begin}; there is no earlier checkpoint",
        f"{begin}; a resume starts from the checkpoint at 2,000 frames",
    ]


def test_a_reader_that_went_away_does_not_end_a_run() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as out:
        Terminal(out, out).say("is anybody there")
        # Unwritten, and written once more when it is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def test_a_full_volume_behind_the_output_does_not_end_a_run() -> None:
    with Path("/dev/full").open("w") as out:
        terminal = Terminal(out, out)
        terminal.say("is there room")
        with terminal.progress("cheetah", DriverReport):
            pass
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # for what is written once more when it is closed


def test_a_terminal_that_is_closed_does_not_end_a_run() -> None:
    controlling, shown = os.openpty()
    with os.fdopen(shown, "w") as out:
        terminal = Terminal(out, out)
        progress = terminal.progress("cheetah", DriverReport)
        assert isinstance(progress, LiveTable)
        with progress:
            os.close(controlling)
        terminal.say("is anybody there")
        with terminal.progress("cheetah", DriverReport):  # begins on a terminal that is gone
            pass
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def test_a_pipe_gets_lines(terminal: Terminal) -> None:
    assert isinstance(terminal.progress("cheetah", DriverReport), ProgressLines)
