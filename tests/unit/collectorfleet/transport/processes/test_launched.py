"""The end of a collector's process, as messages name it."""

from __future__ import annotations

import multiprocessing
import signal

import pytest

from collectorfleet.transport.processes.launched import LocalProcess


@pytest.mark.parametrize(("number", "name"), [(15, "SIGTERM"), (37, "signal 37")])
def test_the_end_of_a_process_names_the_signal_that_ended_it(number: int, name: str) -> None:
    process = multiprocessing.get_context("spawn").Process(target=signal.raise_signal, args=(number,))
    process.start()
    assert LocalProcess(process).wait_for_end().cause == f"its process was ended by {name}"
