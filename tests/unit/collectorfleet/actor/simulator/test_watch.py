"""What a collector reports of a simulator whose end its environment does not notice."""

from __future__ import annotations

import os
import queue
from dataclasses import replace
from pathlib import Path

import pytest
from tests import simulated
from tests.simulated import running
from tests.wait import eventually

from collectorfleet.actor.simulator import watch
from collectorfleet.actor.simulator.failure import SimulatorFailed
from collectorfleet.actor.simulator.options import SimulatorProcess
from collectorfleet.actor.simulator.starting import Started, start
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


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return self.now


@pytest.mark.parametrize(
    ("ready_after", "left"),
    [(1.0, 239.0), (179.0, 61.0), (245.0, 27.5), (290.0, 5.0), (301.0, 0.0)],
    ids=["ready after 1 s", "ready after 179 s", "ready after 245 s", "ready after 290 s", "ready too late"],
)
def test_a_simulator_that_was_slow_to_start_leaves_time_to_build_before_the_driver_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ready_after: float, left: float
) -> None:
    clock = Clock()

    def slow(process: SimulatorProcess) -> Started:
        started = start(process)
        clock.now += ready_after
        return started

    monkeypatch.setattr(watch, "start", slow)
    monkeypatch.setattr(watch, "time", clock)
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 0.01)
    reports: queue.Queue[SimulatorFailed] = queue.Queue()
    simulator = replace(simulated.watched(tmp_path / "log"), build_seconds=300.0)
    watched = WatchedSimulator(simulator, reports.put)
    try:
        clock.now = ready_after + left
        looks = clock.looks
        eventually(lambda: clock.looks > looks + 2, within=60)
        assert reports.empty()
        clock.now += 0.1
        said = str(reports.get(timeout=60))
    finally:
        watched.stop()
    assert f"the environment has waited for {left:.0f} s, and the simulator still runs" in said
