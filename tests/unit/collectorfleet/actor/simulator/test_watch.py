"""What a collector reports of a simulator whose end its environment does not notice."""

from __future__ import annotations

import os
import queue
from pathlib import Path

import pytest
from tests import simulated
from tests.simulated import running

from collectorfleet.actor.simulator import watch
from collectorfleet.actor.simulator.failure import SimulatorFailed
from collectorfleet.actor.simulator.watch import WatchedSimulator

A_REAL_TIME_SIGNAL = 37


@pytest.fixture(autouse=True)
def _reports_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_RAISES_SECONDS", 0.1)


def report_of_a_killed_simulator(log: Path) -> str:
    reports: queue.Queue[SimulatorFailed] = queue.Queue()
    WatchedSimulator(simulated.watched(log), reports.put)
    (pid,) = running(log)
    os.kill(pid, A_REAL_TIME_SIGNAL)
    return str(reports.get(timeout=60))


def test_the_end_by_a_signal_without_a_name_is_reported(tmp_path: Path) -> None:
    assert "was ended by signal 37; " in report_of_a_killed_simulator(tmp_path / "log")


def test_an_error_of_the_watch_itself_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(tail: object) -> str:
        raise ValueError("no text")

    monkeypatch.setattr(watch, "last_lines", fails)
    report = report_of_a_killed_simulator(tmp_path / "log")
    assert report.endswith("the collector can no longer watch the simulator: ValueError('no text')")
