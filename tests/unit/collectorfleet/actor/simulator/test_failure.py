"""The words for a simulator that failed."""

from __future__ import annotations

import os

from collectorfleet.actor.origin import Origin, origin_of
from collectorfleet.actor.simulator.failure import Exit, SimulatorFailed, last_lines, name_of
from collectorfleet.actor.simulator.supervisor import Output, Tail


def test_an_exit_is_said_by_its_code_or_by_its_signal() -> None:
    assert str(Exit(3)) == "exited with code 3"
    assert str(Exit(-11)) == "was ended by SIGSEGV"
    assert str(Exit(-37)) == "was ended by signal 37"
    assert str(Exit(-9)) == "was ended by SIGKILL, perhaps for lack of memory (collectors.resources.memory)"
    assert (
        str(Exit(None, how="ended together with its supervisor process"))
        == "ended together with its supervisor process"
    )


def test_the_last_five_lines_are_said_each_cut_to_120_characters() -> None:
    assert last_lines([]) == "it printed nothing"
    assert last_lines([str(number) for number in range(9)]) == "its last lines: 4 | 5 | 6 | 7 | 8"
    assert last_lines(["x" * 200]) == f"its last lines: {'x' * 117}..."


def test_a_simulator_is_called_by_its_program_because_arguments_may_be_secrets() -> None:
    assert name_of(["./my sim", "--token", "s3cret"]) == "simulator `./my sim`"
    assert name_of(["x" * 200]) == f"simulator `{'x' * 77}...`"


def test_a_failed_simulator_is_an_error_of_the_environment() -> None:
    assert origin_of(SimulatorFailed("it is gone")) is Origin.ENVIRONMENT


def test_what_is_kept_of_an_output_is_bounded_and_the_last_of_it() -> None:
    tail = Tail()
    for number in range(1000):
        tail.feed(f"line {number}\nunfi".encode())
        tail.feed(b"nished ")
    assert len(tail.lines()) <= 101
    assert tail.lines()[-2:] == ["unfinished line 999", "unfinished"]
    tail.feed(b"y" * 1_000_000)
    tail.feed(b"\xff" * 100 + b"\n")
    assert len(tail.lines()[-1]) == 500


def test_of_a_progress_bar_that_overwrites_itself_the_last_part_is_kept() -> None:
    tail = Tail()
    tail.feed(b"world loaded\r\n")
    for percent in range(300):
        tail.feed(f"loading {percent}%\r".encode())
    assert tail.lines() == ["world loaded", "loading 299%"]
    tail.feed(b"no licence")
    tail.feed(b" left\r")
    assert tail.lines() == ["world loaded", "no licence left"]
    tail.feed(b"\nthe end")
    assert tail.lines() == ["world loaded", "no licence left", "the end"]


def test_an_output_without_end_leaves_time_for_other_work() -> None:
    endless = os.open("/dev/zero", os.O_RDONLY)
    try:
        assert Output(endless).read_some()
    finally:
        os.close(endless)
